"""The gateway's HTTP client, with a stand-in node where the network would be."""

from collections.abc import AsyncIterator, Awaitable, Callable

import httpx

from capacity.standins.exchange import StandInReply, StandInRequest

Handle = Callable[[str, StandInRequest], Awaitable[StandInReply]]
"""A service's name and a request to it: `Node.handle`."""

_DOMAIN = "node.test"  # `.test` is nobody's (RFC 2606)


def service_url(service: str) -> str:
    """The address that `NodeTransport` knows the service by."""
    return f"http://{service}.{_DOMAIN}"


class _Body(httpx.AsyncByteStream):
    """Closing it tells the node that its caller has left."""

    def __init__(self, reply: StandInReply) -> None:
        self._pieces = reply.body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._pieces:
            yield piece

    async def aclose(self) -> None:
        await self._pieces.aclose()


class NodeTransport(httpx.AsyncBaseTransport):
    """Hands each request to the service that its host name begins with."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The node's reply; its body comes as the node sends it."""
        service = request.url.host.partition(".")[0]
        content = await request.aread()
        asked = StandInRequest(request.method, request.url.path, request.headers, content)
        reply = await self._handle(service, asked)
        return httpx.Response(reply.status, headers=dict(reply.headers), stream=_Body(reply))


def node_client(handle: Handle) -> httpx.AsyncClient:
    """Like `chassis.http.calls.http_client`, but for the network."""
    return httpx.AsyncClient(transport=NodeTransport(handle), timeout=None)
