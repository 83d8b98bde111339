"""The gateway's HTTP client, with a stand-in node where the network would be."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from capacity.standins.exchange import StandInReply, StandInRequest
from chassis.http.client import Body, Response

Handle = Callable[[str, StandInRequest], Awaitable[StandInReply]]
"""A service's name and a request to it: `Node.handle`."""

_DOMAIN = "node.test"  # `.test` is nobody's (RFC 2606)


def service_url(service: str) -> str:
    """The address that `NodeClient` knows the service by."""
    return f"http://{service}.{_DOMAIN}"


class _NodeResponse:
    def __init__(self, reply: StandInReply) -> None:
        self.status = reply.status
        self.headers = reply.headers
        self._body = reply.body

    async def pieces(self) -> AsyncIterator[bytes]:
        async for piece in self._body:
            yield piece


class NodeClient:
    """Hands each request to the service that its host name begins with."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: Body = ()
    ) -> AsyncIterator[Response]:
        """The node's reply, its body as the node sends it; leaving tells the node so."""
        address = urlsplit(url)
        asked = StandInRequest(method, address.path, headers, b"".join(body))
        reply = await self._handle(address.netloc.partition(".")[0], asked)
        try:
            yield _NodeResponse(reply)
        finally:
            await reply.body.aclose()


@asynccontextmanager
async def node_client(handle: Handle) -> AsyncIterator[NodeClient]:
    """Like `chassis.http.calls.http_client`, but for the network."""
    yield NodeClient(handle)
