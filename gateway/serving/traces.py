"""Finished traces: the newest of this gateway in memory and, with a shared store, those of all gateways."""

import asyncio
import re

import structlog

from chassis.errors import DependencyUnavailable, TraceNotFound
from contracts.answer import Trace
from gateway.store import Allowance, AllowanceOf, Entries, Store, read_stored, unlimited

_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_MOST_UNSHARED = 256
TTL_S = 600.0
"""In the shared store. Not long: traces lie beside people's sessions, and each is a few kilobytes."""

log = structlog.get_logger()


class Traces:
    """Stores traces, each for its tenant only: `limit` in memory, and in `shared` for `TTL_S` seconds.

    No question waits for the shared store: `run` writes there. If too many wait, the newest are not shared.
    What is not written yet is lost with the process, as the traces in memory are.
    """

    def __init__(
        self, limit: int, shared: Store | None = None, allowance_of: AllowanceOf = unlimited
    ) -> None:
        self._own = Entries[Trace](Allowance(limit), allowance_of)
        self._shared = shared
        self._unshared = asyncio.Queue[tuple[str, str, Trace]](_MOST_UNSHARED)

    def add(self, trace: Trace, tenant: str) -> None:
        """Store a trace; the oldest is evicted."""
        key = _key(trace.trace_id, tenant)
        self._own.put(key, trace, 0, tenant)
        if self._shared is not None and not self._unshared.full():
            self._unshared.put_nowait((key, tenant, trace))

    async def get(self, trace_id: str, tenant: str) -> Trace:
        """Raises `TraceNotFound`, or `DependencyUnavailable` if the shared store does not answer."""
        key = _key(trace_id, tenant)
        trace = self._own.get(key)
        if trace is None and self._shared is not None and _TRACE_ID.fullmatch(trace_id):
            trace = await read_stored(self._shared, key, tenant, Trace, "trace")
        if trace is None:
            raise TraceNotFound("There is no trace with this id, or it is no longer kept.")
        return trace

    async def run(self) -> None:
        """Write new traces to the shared store, until cancelled."""
        while self._shared is not None:
            key, tenant, trace = await self._unshared.get()
            try:
                await self._shared.put(key, trace.model_dump_json().encode(), TTL_S, tenant)
            except DependencyUnavailable as error:
                log.warning("trace_not_shared", reason=error.kind.value)


def _key(trace_id: str, tenant: str) -> str:
    return f"{tenant}:{trace_id}"
