"""Calling another service: the deadline goes along, and what went wrong comes back as our own errors."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import aiohttp
import anyio
import httpx
from httpx_aiohttp import AiohttpTransport
from pydantic import BaseModel, ValidationError

from chassis.errors import DeadlineExceeded, DependencyUnavailable, LoreglassError, error_from_problem
from chassis.http.problems import PROBLEM_JSON
from chassis.resilience.deadlines import Deadline
from chassis.resilience.guard import Guard
from chassis.scope import current_scope
from chassis.telemetry.spans import Attribute, Span, span, trace_headers
from contracts import headers
from contracts.errors import Problem

Reply = TypeVar("Reply", bound=BaseModel)
FilePart = tuple[str, tuple[str, bytes, str]]

_METHOD, _STATUS, _PEER = "http.request.method", "http.response.status_code", "peer.service"

CONNECT_S = 1.5
"""A SYN that is lost is sent again after one second."""
_CONNECTIONS = 1_000
"""Of a process: how many calls a service gets at once is for its guard to say."""
_IDLE_S = 3.0
"""Ready-made servers (uvicorn, so vLLM) close a connection after five idle seconds; we do it first."""


def http_client() -> httpx.AsyncClient:
    """The client of a process; one connection pool for all services.

    The aiohttp transport costs a third to a sixth of httpx's own in CPU time per request.
    """
    limits = httpx.Limits(max_connections=_CONNECTIONS, keepalive_expiry=_IDLE_S)
    return httpx.AsyncClient(transport=AiohttpTransport(limits=limits), timeout=None)


class ServiceClient:
    """Calls to one service. Raises `LoreglassError`s only, the class that the service raised where it did.

    Work that is sent goes through `guard`, where there is one: so a guard that repeats calls is only for
    services that are read. `get` and `delete` do not: who asks whether a service is well wants to know of
    the service, and such calls are too quick to tell the limit anything of work.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
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

    async def send_json(
        self,
        method: str,
        path: str,
        body: BaseModel,
        reply: type[Reply],
        deadline: Deadline,
        *,
        weight_ms: float = 0.0,
    ) -> Reply:
        """Send `body` as JSON. `weight_ms`: how long the work is expected to keep a shared card busy."""
        content = body.model_dump_json(exclude_none=True).encode()
        request = {"content": content, "headers": {"Content-Type": "application/json"}}
        return await self._guarded(method, path, reply, deadline, weight_ms, request)

    async def send_multipart(
        self,
        path: str,
        files: Sequence[FilePart],
        fields: Mapping[str, str | list[str]],
        reply: type[Reply],
        deadline: Deadline,
        method: str = "POST",
        *,
        weight_ms: float = 0.0,
    ) -> Reply:
        """Send files and fields as multipart/form-data; `weight_ms` as in `send_json`."""
        request = {"files": files, "data": fields}
        return await self._guarded(method, path, reply, deadline, weight_ms, request)

    async def _guarded(
        self,
        method: str,
        path: str,
        reply: type[Reply],
        deadline: Deadline,
        weight_ms: float,
        request: Mapping[str, Any],
    ) -> Reply:
        if self._guard is None:
            return await self._call(method, path, reply, deadline, **request)
        return await self._guard.call(
            lambda: self._call(method, path, reply, deadline, **request), deadline, weight_ms=weight_ms
        )

    async def _call(
        self, method: str, path: str, reply: type[Reply], deadline: Deadline, **request: Any
    ) -> Reply:
        deadline.require()
        with span(f"{method} {self._name}", "client", **{_METHOD: method, _PEER: self._name}) as call:
            response = await self._send(method, path, deadline, call, **request)
            call.set(**{_STATUS: response.status_code})
            if not response.is_success:
                raise self._error(response)
            try:
                return reply.model_validate_json(response.content)
            except ValidationError as error:
                raise DependencyUnavailable(f"{self._name} sent a reply that breaks its contract.") from error

    async def _send(
        self, method: str, path: str, deadline: Deadline, call: Span, **request: Any
    ) -> httpx.Response:
        given = request.pop("headers", {})
        sent = {
            **self._authorization,
            **given,
            headers.DEADLINE: str(math.ceil(deadline.remaining_ms())),
            **trace_headers(),
        }
        if scope := current_scope():
            sent[headers.CACHE_SCOPE] = scope
        timeout = httpx.Timeout(deadline.remaining_s(), connect=min(CONNECT_S, deadline.remaining_s()))
        try:
            with anyio.fail_after(deadline.remaining_s()):  # httpx's own limits start anew with each read
                built = self._http.build_request(
                    method, self._base_url + path, headers=sent, timeout=timeout, **request
                )
                if call.recorded:
                    call.set(**_where(built.url))
                built.read()  # a form as one piece; as a stream the transport pays for it with an exception
                return await self._http.send(built)
        except httpx.ConnectTimeout as error:
            raise DependencyUnavailable(f"{self._name} does not accept connections.") from error
        except (TimeoutError, httpx.TimeoutException) as error:
            raise DeadlineExceeded(f"{self._name} did not answer in time.") from error
        except (httpx.HTTPError, aiohttp.ClientError) as error:  # the transport lets some of its own through
            raise DependencyUnavailable(f"{self._name} cannot be reached.") from error

    def _error(self, response: httpx.Response) -> LoreglassError:
        if response.headers.get("content-type", "").startswith(PROBLEM_JSON):
            try:
                problem = Problem.model_validate_json(response.content)
            except ValidationError:
                return DependencyUnavailable(f"{self._name} sent an unreadable error.")
            retry_after = response.headers.get("retry-after", "")
            return error_from_problem(problem, float(retry_after) if retry_after.isdecimal() else None)
        return DependencyUnavailable(f"{self._name} answered with status {response.status_code}.")


def _where(url: httpx.URL) -> dict[str, Attribute]:
    """Nothing of the path: it may name a collection or a session."""
    port = url.port or (443 if url.scheme == "https" else 80)
    return {"server.address": url.host, "server.port": port}
