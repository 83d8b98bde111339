"""Server-sent events whose producer is cancelled when the caller leaves."""

from collections.abc import Awaitable, Callable

import anyio
from pydantic import BaseModel
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

Emit = Callable[[str, BaseModel], Awaitable[None]]


class EventStream(Response):
    """Runs `produce(emit)`; each `emit(event, data)` is one event on the wire, at once."""

    media_type = "text/event-stream"

    def __init__(self, produce: Callable[[Emit], Awaitable[None]]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._produce = produce

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events; the exchange middleware cancels this when the caller leaves."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        sending = anyio.Lock()  # stages that run side by side emit side by side

        async def emit(event: str, data: BaseModel) -> None:
            body = f"event: {event}\ndata: {data.model_dump_json()}\n\n".encode()
            async with sending:
                await send({"type": "http.response.body", "body": body, "more_body": True})

        await self._produce(emit)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
