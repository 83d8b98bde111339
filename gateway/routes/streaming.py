"""Server-sent events. The exchange middleware cancels the producer when the client disconnects."""

import re
from collections.abc import Awaitable, Callable

import anyio
from pydantic import BaseModel
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from chassis.errors import Internal, LoreglassError
from chassis.http.problems import note_problem
from gateway.planning.prefetch import side_by_side

Emit = Callable[[str, BaseModel | str], Awaitable[None]]
"""Sends one event: its name, "" for none, and its data."""

HEARTBEAT_S = 5.0
"""Between comments, so that proxies and clients do not close a stream that is silent."""
_COMMENT = b":\n\n"
_PIECE = re.compile(r"\S+\s*")


def pieces(text: str) -> list[str]:
    """Split an answer into words, each with the space after it."""
    return _PIECE.findall(text)


class EventStream(Response):
    """Sends the events of `produce`. The status is sent with the first one.

    `refusal`: the reply to an error before the first event. `failure`: the data of the event that reports a
    later error; its name is `failure_event`.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        produce: Callable[[Emit], Awaitable[None]],
        refusal: Callable[[LoreglassError], Response],
        failure: Callable[[LoreglassError], BaseModel | str],
        failure_event: str = "error",
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._produce = produce
        self._refusal = refusal
        self._failure = failure
        self._failure_event = failure_event

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sender = Sender(send, self)
        try:
            async with side_by_side() as group:
                group.start_soon(sender.send_heartbeats)
                await self._produce(sender.emit)
                group.cancel_scope.cancel()
        except LoreglassError as error:
            if not sender.started:
                await self._refusal(error)(scope, receive, send)
                return
            note_problem(scope, error)  # the status is sent; logs and metrics still show the error
            await sender.emit(self._failure_event, self._failure(error))
        except Exception:
            if sender.started:
                await sender.emit(self._failure_event, self._failure(Internal()))
            raise
        await sender.end()


class Sender:
    """Sends a reply piece by piece; its status and headers go with the first one."""

    def __init__(self, send: Send, reply: Response) -> None:
        self.started = False
        self._send = send
        self._reply = reply
        self._lock = anyio.Lock()  # stages that run side by side emit side by side

    async def emit(self, event: str, data: BaseModel | str) -> None:
        text = data if isinstance(data, str) else data.model_dump_json()
        name = f"event: {event}\n" if event else ""
        await self.write(f"{name}data: {text}\n\n".encode())

    async def send_heartbeats(self) -> None:
        """Send a comment now and then, until cancelled."""
        while True:
            await anyio.sleep(HEARTBEAT_S)
            if self.started:
                await self.write(_COMMENT)

    async def write(self, piece: bytes, *, more: bool = True) -> None:
        """Send a piece. Not `more`: the reply ends with it."""
        async with self._lock:
            if not self.started:
                self.started = True
                headers = self._reply.raw_headers
                await self._send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._send({"type": "http.response.body", "body": piece, "more_body": more})

    async def end(self) -> None:
        await self.write(b"", more=False)
