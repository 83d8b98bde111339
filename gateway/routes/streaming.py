"""Server-sent events whose producer is cancelled when the caller leaves."""

import re
from collections.abc import Awaitable, Callable

import anyio
from pydantic import BaseModel
from starlette.responses import Response
from starlette.types import Receive, Scope
from starlette.types import Send as SendMessage

Emit = Callable[[str, BaseModel], Awaitable[None]]
Send = Callable[[BaseModel | str], Awaitable[None]]


_PIECE = re.compile(r"\S+\s*")


def pieces(text: str) -> list[str]:
    """The words of an answer, each with the space after it, as streams tell them."""
    return _PIECE.findall(text)


class _Stream(Response):
    """Runs `produce(write)`; each block of text that it writes is sent at once.

    The exchange middleware cancels it when the caller leaves.
    """

    media_type = "text/event-stream"

    def __init__(self, produce: Callable[[Callable[[str], Awaitable[None]]], Awaitable[None]]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._write_all = produce

    async def __call__(self, scope: Scope, receive: Receive, send: SendMessage) -> None:
        """Send the events."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        sending = anyio.Lock()  # stages that run side by side emit side by side

        async def write(block: str) -> None:
            async with sending:
                await send({"type": "http.response.body", "body": block.encode(), "more_body": True})

        await self._write_all(write)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class EventStream(_Stream):
    """Named events: `produce(emit)`, where `emit(event, data)` is one event on the wire."""

    def __init__(self, produce: Callable[[Emit], Awaitable[None]]) -> None:
        async def write_all(write: Callable[[str], Awaitable[None]]) -> None:
            async def emit(event: str, data: BaseModel) -> None:
                await write(f"event: {event}\ndata: {data.model_dump_json()}\n\n")

            await produce(emit)

        super().__init__(write_all)


class DataStream(_Stream):
    """Unnamed events: `produce(send)`, where `send(data)` is one event; OpenAI's clients read these."""

    def __init__(self, produce: Callable[[Send], Awaitable[None]]) -> None:
        async def write_all(write: Callable[[str], Awaitable[None]]) -> None:
            async def send(data: BaseModel | str) -> None:
                text = data if isinstance(data, str) else data.model_dump_json()
                await write(f"data: {text}\n\n")

            await produce(send)

        super().__init__(write_all)
