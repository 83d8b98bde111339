"""Calling another service: the deadline goes along, and what went wrong comes back as our own errors."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import httpx
from opentelemetry.trace import SpanKind
from pydantic import BaseModel, ValidationError

from chassis.errors import DeadlineExceeded, DependencyUnavailable, LoreglassError, error_from_problem
from chassis.http.client import (
    ConnectTimeoutError,
    ExchangeError,
    HttpClient,
    Response,
    ResponseTooLargeError,
    connection_pool,
    server_attributes,
    whole,
)
from chassis.http.problems import PROBLEM_JSON
from chassis.resilience.deadlines import Deadline, seconds_of
from chassis.resilience.guard import Guard
from chassis.scope import current_scope
from chassis.telemetry.spans import span, trace_headers
from contracts import headers
from contracts.errors import Problem

Reply = TypeVar("Reply", bound=BaseModel)
FilePart = tuple[str, tuple[str, bytes, str]]
"""A field's name; the file's name, its content and its media type."""
Fields = Mapping[str, str] | Mapping[str, str | list[str]]
"""Values by name; a list stands for a field that is repeated."""

_STATUS = "http.response.status_code"

CONNECT_S = 1.5
"""A SYN that is lost is sent again after one second."""
MAX_REPLY_BYTES = 64 * 2**20
"""Many times what any service of ours says."""
_CONNECTIONS = 1_000
"""Of a process: how many calls a service gets at once is for its guard to say."""
_IDLE_S = 3.0
"""Ready-made servers (uvicorn, so vLLM) close a connection after five idle seconds; we do it first."""


@dataclass(frozen=True, slots=True)
class Form:
    """A multipart/form-data body; without files, no boundary and no parts."""

    files: Sequence[FilePart] = ()
    fields: Fields = field(default_factory=dict)

    def encode(self) -> tuple[str, bytes]:
        """Return the media type and the body."""
        request = httpx.Request("POST", "http://form", files=self.files or None, data=self.fields)
        return request.headers["Content-Type"], request.read()


def http_client() -> AbstractAsyncContextManager[HttpClient]:
    """Open the client of a process; one connection pool for all services."""
    return connection_pool(_CONNECTIONS, _IDLE_S, CONNECT_S)


class ServiceClient:
    """Calls to one service. Raises `LoreglassError`s only, the class that the service raised where it did.

    Work that is sent goes through `guard`, where there is one: so a guard that repeats calls is only for
    services that are read. `get` and `delete` do not: who asks whether a service is well wants to know of
    the service, and such calls are too quick to tell the limit anything of work.
    """

    def __init__(
        self,
        http: HttpClient,
        name: str,
        base_url: str,
        guard: Guard | None = None,
        token: str = "",
    ) -> None:
        self._http = http
        self._name = name
        self._base_url = base_url.rstrip("/")
        self._guard = guard
        self._authorization = {"Authorization": f"Bearer {token}"} if token else {}

    async def get(self, path: str, reply: type[Reply], deadline: Deadline) -> Reply:
        """GET `path`."""
        return await self._call("GET", path, reply, deadline)

    async def delete(self, path: str, reply: type[Reply], deadline: Deadline) -> Reply:
        """DELETE `path`."""
        return await self._call("DELETE", path, reply, deadline)

    async def send(
        self,
        method: str,
        path: str,
        body: BaseModel | Form,
        reply: type[Reply],
        deadline: Deadline,
        *,
        weight_ms: float = 0.0,
    ) -> Reply:
        """Send `body` as JSON or as a form. `weight_ms`: the expected time of the work on a card."""
        if isinstance(body, Form):
            media_type, content = body.encode()
        else:
            media_type, content = "application/json", body.model_dump_json(exclude_none=True).encode()
        call = partial(self._call, method, path, reply, deadline, media_type, content)
        return await (self._guard.call(call, deadline, weight_ms=weight_ms) if self._guard else call())

    async def _call(
        self,
        method: str,
        path: str,
        reply: type[Reply],
        deadline: Deadline,
        media_type: str = "",
        body: bytes = b"",
    ) -> Reply:
        deadline.require()
        with span(f"{method} {self._name}", kind=SpanKind.CLIENT) as call:
            if call.is_recording():
                # No path: it may name a collection or a session.
                where = server_attributes(self._base_url)
                call.set_attributes({"http.request.method": method, "peer.service": self._name, **where})
            request_headers = {
                **self._authorization,
                headers.DEADLINE: str(math.ceil(deadline.remaining_ms())),
                **trace_headers(),
                **({"Content-Type": media_type} if media_type else {}),
                **({headers.CACHE_SCOPE: scope} if (scope := current_scope()) else {}),
            }
            try:
                async with (
                    asyncio.timeout(deadline.remaining_s()),
                    self._http.exchange(method, self._base_url + path, request_headers, body) as response,
                ):
                    call.set_attribute(_STATUS, response.status)
                    content = await whole(response, MAX_REPLY_BYTES)
            except ConnectTimeoutError as error:
                raise DependencyUnavailable(f"{self._name} does not accept connections.") from error
            except TimeoutError as error:
                raise DeadlineExceeded(f"{self._name} did not answer in time.") from error
            except ExchangeError as error:
                raise DependencyUnavailable(f"{self._name} cannot be reached.") from error
            except ResponseTooLargeError as error:
                raise self._broken() from error
            if not 200 <= response.status < 300:
                raise self._error(response, content)
            try:
                return reply.model_validate_json(content)
            except ValidationError as error:
                raise self._broken() from error

    def _broken(self) -> DependencyUnavailable:
        return DependencyUnavailable(f"{self._name} sent a reply that breaks its contract.")

    def _error(self, response: Response, content: bytes) -> LoreglassError:
        if response.headers.get("content-type", "").startswith(PROBLEM_JSON):
            try:
                problem = Problem.model_validate_json(content)
            except ValidationError:
                return DependencyUnavailable(f"{self._name} sent an unreadable error.")
            return error_from_problem(problem, seconds_of(response.headers.get("retry-after")))
        return DependencyUnavailable(f"{self._name} answered with status {response.status}.")
