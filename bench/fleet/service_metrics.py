"""The stand-in services' `/metrics`: a real app's families, fed with what the stand-ins do."""

import time
from dataclasses import dataclass

from capacity.standins import Node, StandInReply, StandInRequest
from capacity.standins.exchange import whole_reply
from capacity.standins.stations import Station
from chassis.resilience.deadlines import Clock
from chassis.telemetry.metrics import Metrics
from chassis.telemetry.tracing import TRACE_ID, TRACEPARENT, read_caller

PATH = "/metrics"
_DEVICE = "cuda:0"
_LEFT = 499
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class _Pool:
    """A station as the chassis looks at an engine's pool; it does not know when its callers came."""

    station: Station
    oldest_wait_s: float = 0.0

    @property
    def waiting(self) -> int:
        """Calls in the queue."""
        return self.station.waiting

    @property
    def running(self) -> int:
        """Calls being worked on."""
        return self.station.working


class ServiceMetrics:
    """Counts the calls of one stand-in by route and status, with the caller's trace as exemplar."""

    def __init__(self, node: Node, service: str, clock: Clock = time.monotonic) -> None:
        self._node = node
        self._service = service
        self._clock = clock
        self._metrics = Metrics(service)
        self._metrics.watch_pool(_Pool(node.stations[service]))
        if share := node.calibration.memory_mib.get(service, 0):
            self._metrics.memory_share.labels(service, _DEVICE).set(share * _MIB)
            peak = self._metrics.memory_peak.labels(service, _DEVICE)
            peak.set_function(lambda: node.memory_peak_mib[service] * _MIB)

    async def handle(self, request: StandInRequest) -> StandInReply:
        """The node's reply, counted; or what Prometheus reads."""
        if request.path == PATH:
            content, media_type = self._metrics.exposition(request.headers.get("accept", ""))
            return whole_reply(200, media_type, content)
        caller = read_caller(request.headers.get(TRACEPARENT), None)
        TRACE_ID.set(caller.trace_id if caller else None)
        began, status = self._clock(), _LEFT
        self._metrics.begin()
        try:
            reply = await self._node.handle(self._service, request)
            status = reply.status
        finally:
            self._metrics.observe(request.path, request.method, status, self._clock() - began)
        return reply
