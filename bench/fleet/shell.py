"""One service of a node as an ASGI app: bytes in, bytes out, and what its line does to them."""

from contextlib import aclosing

import anyio
from starlette.types import Message, Receive, Scope, Send

from bench.fleet.service_metrics import ServiceMetrics
from bench.fleet.switches import Line, Mode
from bench.fleet.vllm_metrics import VllmMetrics
from capacity.standins import VLM, Node, StandInReply, StandInRequest

_FAILURE = b"Internal Server Error"


class CallerLeft(Exception):
    """The request never came in whole."""


class ServiceShell:
    """Pure ASGI, as little as there can be between the socket and the node."""

    def __init__(self, node: Node, service: str, line: Line) -> None:
        self._line = line
        self._metrics = VllmMetrics(node) if service == VLM else ServiceMetrics(node, service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer while listening for the caller's leaving, which ends the work."""
        try:
            request = await _read(scope, receive)
        except CallerLeft:
            return
        async with anyio.create_task_group() as group:

            async def listen() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()

            group.start_soon(listen)
            await self._answer(request, send)
            group.cancel_scope.cancel()

    async def _answer(self, request: StandInRequest, send: Send) -> None:
        async def send_if_passable(message: Message) -> None:
            await self._line.passable()
            await send(message)

        if self._line.hits(Mode.HANG):
            await anyio.sleep_forever()
        if self._line.hits(Mode.FAIL):
            await _send_failure(send_if_passable)
            return
        await _send_reply(await self._metrics.handle(request), send_if_passable)


async def _read(scope: Scope, receive: Receive) -> StandInRequest:
    content = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise CallerLeft
        content += message.get("body", b"")
        if not message.get("more_body", False):
            break
    headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
    return StandInRequest(scope["method"], scope["path"], headers, content)


async def _send_reply(reply: StandInReply, send: Send) -> None:
    headers = [(key.encode(), value.encode()) for key, value in reply.headers.items()]
    async with aclosing(reply.body) as body:
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        async for piece in body:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send_failure(send: Send) -> None:
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(_FAILURE)).encode())]
    await send({"type": "http.response.start", "status": 500, "headers": headers})
    await send({"type": "http.response.body", "body": _FAILURE, "more_body": False})
