"""An `HttpClient` without a network: what it is asked is answered by a function, in the test's own words."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from chassis.http.client import HttpClient, Response

Handle = Callable[[str, Mapping[str, str]], Awaitable["Scripted"]]
"""The address and the headers of a request -> its reply. May raise `ExchangeError`s."""


@dataclass
class Scripted:
    """A reply that is there at once."""

    content: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    async def pieces(self) -> AsyncIterator[bytes]:
        """All of it."""
        yield self.content


class ScriptedHttp:
    """Asks `handle`."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncIterator[Response]:
        """As `HttpClient` has it."""
        yield await self._handle(url, headers)


class Sent:
    """Passes requests on to `http` and keeps their headers."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http
        self.headers: list[Mapping[str, str]] = []

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncIterator[Response]:
        """As `HttpClient` has it."""
        self.headers.append(headers)
        async with self._http.exchange(method, url, headers, body) as response:
            yield response
