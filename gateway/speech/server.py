"""What transcription and speech servers have in common: where they are, and how they fail."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import structlog

from chassis.errors import DeadlineExceeded, DependencyUnavailable, LoreglassError, Overloaded
from chassis.http.calls import CONNECT_S
from chassis.http.client import Body, ConnectTimeoutError, ExchangeError, HttpClient, Response
from chassis.resilience.deadlines import Deadline
from chassis.resilience.guard import Guard
from chassis.telemetry.spans import span, trace_headers

T = TypeVar("T")

_BUSY = (429, 503)
_OF_THE_REQUEST = (400, 413, 415, 422)
_LONGEST_WAIT_S = 3_600.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class SpeechEndpoint:
    """`url` with or without `/v1`. `model`: as the server names it, empty for the server's own choice."""

    name: str
    url: str
    model: str = ""
    key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        """Raises `ValueError` for a key that could never be sent."""
        if not (self.key.isascii() and self.key.isprintable()):
            raise ValueError(f"The key of {self.name} may hold printable ASCII characters only.")

    def route(self, path: str) -> str:
        """The address of a route below `/v1`."""
        return f"{self.url.rstrip('/').removesuffix('/v1')}/v1{path}"


class RequestRefused(DependencyUnavailable):
    """The server is well, and does not take this request."""


class SpeechServer:
    """Calls to one server, behind its guard. Raises `LoreglassError`s only."""

    def __init__(self, http: HttpClient, endpoint: SpeechEndpoint, guard: Guard) -> None:
        self._http = http
        self._endpoint = endpoint
        self._guard = guard

    @property
    def endpoint(self) -> SpeechEndpoint:
        """Where it is."""
        return self._endpoint

    async def guarded(self, work: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        """`work`, when the server may be asked, within the caller's time.

        A request that it refuses tells nothing of how well it is: one caller's odd recordings keep nobody
        else from it.
        """
        deadline.require()

        async def attempt() -> T | RequestRefused:
            try:
                return await work()
            except RequestRefused as refusal:
                return refusal

        try:
            with anyio.fail_after(deadline.remaining_s()):
                result = await self._guard.call(attempt, deadline)
        except TimeoutError as error:
            raise self._late() from error
        if isinstance(result, RequestRefused):
            raise result
        return result

    @asynccontextmanager
    async def posted(self, path: str, media_type: str, body: Body) -> AsyncIterator[Response]:
        """A reply that is not read yet, its status good. Raises as the class says, also from the body."""
        name, url = self._endpoint.name, self._endpoint.route(path)
        sent = {"Content-Type": media_type, **self._authorization(), **trace_headers()}
        with span(f"POST {name}", "client", **{"http.request.method": "POST", "peer.service": name}) as call:
            try:
                async with self._http.exchange("POST", url, sent, body) as response:
                    call.set(**{"http.response.status_code": response.status})
                    if not 200 <= response.status < 300:
                        raise self._failure(response)
                    yield response
            except ConnectTimeoutError as error:
                raise self.unusable("accepts no connections") from error
            except ExchangeError as error:
                raise self.unusable("cannot be reached") from error

    async def says(self, deadline: Deadline) -> str:
        """For operators: "ok", or what is wrong. Not all of these servers have the route; all reply."""
        url = self._endpoint.route("/models")
        try:
            with anyio.fail_after(min(CONNECT_S, deadline.remaining_s())):
                async with self._http.exchange("GET", url, self._authorization()) as reply:
                    status = reply.status  # and its body nobody reads
        except (TimeoutError, ExchangeError):
            return f"{self._endpoint.name} does not answer; the wearer's device has to do without."
        if status in (401, 403):
            return f"{self._endpoint.name} refuses the key that the gateway was given."
        return "ok"

    def unusable(self, what: str) -> DependencyUnavailable:
        """The error for a server that `what`; our log says which."""
        log.warning("speech.failed", server=self._endpoint.name, reason=what)
        return DependencyUnavailable(f"The server behind {self._endpoint.name} {what}.")

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._endpoint.key}"} if self._endpoint.key else {}

    def _late(self) -> DeadlineExceeded:
        return DeadlineExceeded(f"The server behind {self._endpoint.name} did not answer in time.")

    def _failure(self, response: Response) -> LoreglassError:
        name, status = self._endpoint.name, response.status
        if status in _BUSY:
            after = response.headers.get("retry-after", "")
            wait_s = min(float(after), _LONGEST_WAIT_S) if after.isdecimal() else 1.0
            return Overloaded(f"The server behind {name} is too busy.", retry_after_s=wait_s)
        if status in _OF_THE_REQUEST:
            log.error("speech.request_refused", server=name, status=status)
            return RequestRefused(f"The server behind {name} does not take this request.")
        if status in (401, 403):
            log.error("speech.key_refused", server=name, status=status)
        if status == 404:
            log.error("speech.model_or_route_unknown", server=name, model=self._endpoint.model)
        return self.unusable(f"answered with status {status}")


async def bounded(server: SpeechServer, response: Response, most: int) -> AsyncGenerator[bytes]:
    """The body in pieces. Raises `DependencyUnavailable` where it is longer than `most` bytes."""
    size = 0
    async for piece in response.pieces():
        size += len(piece)
        if size > most:
            raise server.unusable("sent more than it was asked for")
        yield piece
