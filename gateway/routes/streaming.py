"""Server-sent events whose producer is cancelled when the caller leaves.

A stream begins with its first event: what is refused before that is refused with its own status. While it is
silent, comments are sent.
"""

import re
from collections.abc import Awaitable, Callable

import anyio
from pydantic import BaseModel
from starlette.responses import Response
from starlette.types import Receive, Scope
from starlette.types import Send as SendMessage

from chassis.errors import Internal, LoreglassError
from chassis.http.problems import note_problem
from gateway.planning.run import side_by_side

Emit = Callable[[str, BaseModel], Awaitable[None]]
Send = Callable[[BaseModel | str], Awaitable[None]]

HEARTBEAT_S = 5.0
"""Between comments that keep proxies and clients from taking a question that is worked on for a dead one."""
_COMMENT = ":\n\n"
_PIECE = re.compile(r"\S+\s*")


def pieces(text: str) -> list[str]:
    """The words of an answer, each with the space after it, as streams tell them."""
    return _PIECE.findall(text)


class _Stream(Response):
    """Runs `produce`, whose blocks of text are sent at once.

    `refusal`: the reply to what went wrong before the first of them; `told`: the block that tells it later.
    The exchange middleware cancels it when the caller leaves.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        produce: Callable[[Callable[[str], Awaitable[None]]], Awaitable[None]],
        refusal: Callable[[LoreglassError], Response],
        told: Callable[[LoreglassError], str],
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._produce = produce
        self._refusal = refusal
        self._told = told

    async def __call__(self, scope: Scope, receive: Receive, send: SendMessage) -> None:
        """Send the events."""
        begun = False
        sending = anyio.Lock()  # stages that run side by side emit side by side

        async def write(block: str) -> None:
            nonlocal begun
            async with sending:
                if not begun:
                    begun = True
                    await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await send({"type": "http.response.body", "body": block.encode(), "more_body": True})

        async def beat() -> None:
            while True:
                await anyio.sleep(HEARTBEAT_S)
                if begun:
                    await write(_COMMENT)

        try:
            async with side_by_side() as group:
                group.start_soon(beat)
                await self._produce(write)
                group.cancel_scope.cancel()
        except LoreglassError as error:
            if not begun:
                await self._refusal(error)(scope, receive, send)
                return
            note_problem(scope, error)  # the status is sent; what became of it is still known
            await write(self._told(error))
        except Exception:
            if begun:
                await write(self._told(Internal()))
            raise
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class EventStream(_Stream):
    """Named events: `produce(emit)`, where `emit(event, data)` is one event on the wire.

    `refusal`, `told`: the reply, or the `error` event's data, where it fails.
    """

    def __init__(
        self,
        produce: Callable[[Emit], Awaitable[None]],
        refusal: Callable[[LoreglassError], Response],
        told: Callable[[LoreglassError], BaseModel],
    ) -> None:
        async def write_all(write: Callable[[str], Awaitable[None]]) -> None:
            async def emit(event: str, data: BaseModel) -> None:
                await write(_event(event, data))

            await produce(emit)

        super().__init__(write_all, refusal, lambda error: _event("error", told(error)))


class DataStream(_Stream):
    """Unnamed events: `produce(send)`, where `send(data)` is one event; OpenAI's clients read these.

    `refusal`, `told`: see `EventStream`.
    """

    def __init__(
        self,
        produce: Callable[[Send], Awaitable[None]],
        refusal: Callable[[LoreglassError], Response],
        told: Callable[[LoreglassError], BaseModel],
    ) -> None:
        async def write_all(write: Callable[[str], Awaitable[None]]) -> None:
            async def send(data: BaseModel | str) -> None:
                await write(_data(data))

            await produce(send)

        super().__init__(write_all, refusal, lambda error: _data(told(error)))


def _event(name: str, data: BaseModel) -> str:
    return f"event: {name}\n{_data(data)}"


def _data(data: BaseModel | str) -> str:
    text = data if isinstance(data, str) else data.model_dump_json()
    return f"data: {text}\n\n"
