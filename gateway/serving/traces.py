"""Finished traces: a gateway's newest in its memory and, where gateways share a Redis, everybody's there."""

import re
from typing import Protocol

import anyio
import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from chassis.errors import TraceNotFound
from contracts.answer import Trace
from gateway.serving.stores import (
    Allowance,
    AllowanceOf,
    Holdings,
    RedisHoldings,
    Unreadable,
    delete_unreadable,
    reading,
    redis_errors,
    unlimited,
)

_FORMAT = "1"
"""Part of every key: a gateway that writes traces in another way does not find these."""
_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_WAITING = 256
_Key = tuple[str, str]
"""Tenant and id."""

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
        self._holdings = Holdings[_Key](Allowance(limit), allowance_of)
        self._traces: dict[_Key, Trace] = {}

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

    No question waits for that: traces are written by `run`. Where too many wait, the oldest are not shared.
    What is not written yet is lost with the process, as the traces in memory are.
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
        self._holdings = RedisHoldings(
            client,
            f"{namespace}:trace",
            ttl_s,
            allowance_of,
            lambda tenant, trace_id: (self._key(trace_id, tenant),),
        )
        self._waiting: dict[_Key, Trace] = {}
        self._came = anyio.Event()

    def add(self, trace: Trace, tenant: str) -> None:
        """See `TraceStore`."""
        self._own.add(trace, tenant)
        self._waiting[tenant, trace.trace_id] = trace
        if len(self._waiting) > _WAITING:
            del self._waiting[next(iter(self._waiting))]
            log.debug("trace_not_shared", reason="too many wait")
        self._came.set()

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
        while True:
            await self._came.wait()
            self._came = anyio.Event()
            while self._waiting:
                key = next(iter(self._waiting))
                try:
                    await self._share(self._waiting.pop(key), key[0])
                except (RedisError, OSError) as error:
                    log.warning("trace_not_shared", reason=type(error).__name__)

    async def _share(self, trace: Trace, tenant: str) -> None:
        written = trace.model_dump_json()
        await self._client.set(self._key(trace.trace_id, tenant), written, px=self._ttl_ms)
        await self._holdings.add(tenant, trace.trace_id, len(written))

    async def aclose(self) -> None:
        """Close the client."""
        await self._client.aclose()

    def _key(self, trace_id: str, tenant: str) -> str:
        return f"{self._namespace}:trace:{_FORMAT}:{tenant}:{trace_id}"
