"""Finished traces: a gateway's newest in its memory and, where gateways share a Redis, everybody's there."""

import re
from typing import Protocol

import anyio
import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from chassis.errors import TraceNotFound
from contracts.answer import Trace
from gateway.serving.holdings import Allowance, AllowanceOf, Holdings, RedisHoldings, unlimited
from gateway.serving.redis_values import Unreadable, delete_unreadable, reading, redis_errors

_FORMAT = "1"
"""Part of every key: a gateway that writes traces in another way does not find these."""
_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_WAITING = 256

log = structlog.get_logger()


class TraceStore(Protocol):
    """Keeps traces, each for its tenant's eyes only."""

    def add(self, trace: Trace, tenant: str) -> None:
        """Keep a trace; the oldest gives way."""
        ...

    async def get(self, trace_id: str, tenant: str) -> Trace:
        """Raises `TraceNotFound`, and `DependencyUnavailable` where it cannot be looked for."""
        ...


class MemoryTraceStore:
    """The newest traces of this gateway, `limit` at most; when full, see `Holdings`."""

    def __init__(self, limit: int, allowance_of: AllowanceOf = unlimited) -> None:
        self._holdings = Holdings[tuple[str, str]](Allowance(limit), allowance_of)
        self._traces: dict[tuple[str, str], Trace] = {}

    def add(self, trace: Trace, tenant: str) -> None:
        """See `TraceStore`."""
        key = tenant, trace.trace_id
        self._traces[key] = trace
        for gone in self._holdings.add(tenant, key, 0):
            del self._traces[gone]

    async def get(self, trace_id: str, tenant: str) -> Trace:
        """See `TraceStore`."""
        if (tenant, trace_id) not in self._traces:
            raise TraceNotFound("There is no trace with this id, or it is no longer kept.")
        return self._traces[tenant, trace_id]


class SharedTraceStore:
    """As `MemoryTraceStore`, and any gateway finds what another has kept in `client`'s Redis for `ttl_s`.

    No question waits for that: traces are written by `run`, and are passed over while too many wait. What is
    not written yet is lost with the process, as the traces in memory are.
    """

    def __init__(
        self,
        own: MemoryTraceStore,
        client: Redis,
        ttl_s: float,
        namespace: str = "loreglass",
        allowance_of: AllowanceOf = unlimited,
    ) -> None:
        self._own = own
        self._client = client
        self._ttl_ms = max(1, round(ttl_s * 1000))
        self._namespace = namespace
        self._holdings = RedisHoldings(client, f"{namespace}:trace", ttl_s, allowance_of)
        self._send, self._receive = anyio.create_memory_object_stream[tuple[str, Trace]](_WAITING)

    def add(self, trace: Trace, tenant: str) -> None:
        """See `TraceStore`."""
        self._own.add(trace, tenant)
        try:
            self._send.send_nowait((tenant, trace))
        except (anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            log.debug("trace_not_shared", reason=type(error).__name__)

    async def get(self, trace_id: str, tenant: str) -> Trace:
        """See `TraceStore`."""
        try:
            return await self._own.get(trace_id, tenant)
        except TraceNotFound:
            if not _TRACE_ID.fullmatch(trace_id):
                raise
        key = self._key(trace_id, tenant)
        try:
            with redis_errors("Traces of other gateways cannot be looked for now."):
                kept = await self._client.get(key)
            if kept is not None:
                with reading():
                    return Trace.model_validate_json(kept)
        except Unreadable:
            await delete_unreadable(self._client, "trace", key)
        raise TraceNotFound("There is no trace with this id, or it is no longer kept.")

    async def run(self) -> None:
        """Write what is added, until cancelled."""
        async for tenant, trace in self._receive:
            try:
                await self._share(trace, tenant)
            except (RedisError, OSError) as error:
                log.warning("trace_not_shared", reason=type(error).__name__)

    async def _share(self, trace: Trace, tenant: str) -> None:
        written = trace.model_dump_json()
        await self._client.set(self._key(trace.trace_id, tenant), written, px=self._ttl_ms)
        for gone in await self._holdings.add(tenant, trace.trace_id, len(written)):
            await self._client.delete(self._key(gone, tenant))

    async def aclose(self) -> None:
        """Close the client."""
        self._send.close()
        self._receive.close()
        await self._client.aclose()

    def _key(self, trace_id: str, tenant: str) -> str:
        return f"{self._namespace}:trace:{_FORMAT}:{tenant}:{trace_id}"
