"""Prometheus metrics of one app; each app has a registry of its own, so that several fit in one process."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Protocol

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from chassis.accelerator import Accelerator
from chassis.resilience.breaker import BreakerState
from chassis.resilience.guard import GuardEvent
from chassis.telemetry.tracing import TRACE_ID
from contracts.errors import ErrorKind
from contracts.operations import Info

BATCH_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128)
LATENCY_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 7.5, 10, 15)
_TENANT = "tenant"
_OPENMETRICS = "application/openmetrics-text"
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_OTHER_METHOD = "_OTHER"
"""As in OpenTelemetry's conventions: a stranger must not make series by inventing methods."""


def known_method(method: str) -> str:
    """The method, where it is one of HTTP's own."""
    return method if method in _METHODS else _OTHER_METHOD


def exemplar() -> dict[str, str] | None:
    """Return the current trace as an exemplar, for `observe(…, exemplar())`."""
    trace_id = TRACE_ID.get()
    return {"trace_id": trace_id} if trace_id else None


class Queue(Protocol):
    """Work before an engine; read from a scrape's thread."""

    @property
    def waiting(self) -> int: ...

    @property
    def oldest_wait_s(self) -> float: ...


class Pool(Queue, Protocol):
    """Calls before and in an engine."""

    @property
    def running(self) -> int: ...


class Metrics:
    """RED by route template, what is before the engine, and what an app adds of its own."""

    def __init__(self, service: str) -> None:
        # The library would add a second series to each, with the time it was made.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self.service = service
        self._of_requests()
        self._of_engines()
        self._of_stores()
        ProcessCollector(registry=self.registry)

    def _of_requests(self) -> None:
        by_route = ("service", "route", "method")
        self.requests = self.counter(
            "loreglass_requests_total", "Requests by route template and status.", (*by_route, "status")
        )
        self.seconds = Histogram(
            "loreglass_request_seconds",
            "Duration of requests, from the first byte read to the last byte sent.",
            by_route,
            buckets=LATENCY_BUCKETS_S,
            registry=self.registry,
        )
        self.in_flight = self.gauge("loreglass_requests_in_flight", "Requests in progress.")
        self.deadline_exceeded = self.counter(
            "loreglass_deadline_exceeded_total",
            "Requests that ended at their deadline.",
            ("service", "route"),
        )
        self._connections = self.gauge("loreglass_connections", "Open connections.")
        self._held = self.gauge("loreglass_upload_bytes", "Bytes of request bodies in memory, or announced.")
        self._wire_refused = self.counter(
            "loreglass_connections_refused_total",
            "Connections and requests refused before they were read, by reason.",
            ("service", "reason"),
        )
        self._working = self.in_flight.labels(self.service)
        self._requests: dict[tuple[str, str, int], Counter] = {}
        self._seconds: dict[tuple[str, str], Histogram] = {}

    def _of_engines(self) -> None:
        self.batch_items = Histogram(
            "loreglass_batch_items",
            "Items in a forward pass of a model.",
            ("service", "forward"),
            buckets=BATCH_BUCKETS,
            registry=self.registry,
        )
        by_forward = ("service", "forward")
        self._batch_waiting = self.gauge(
            "loreglass_batch_waiting_items", "Items waiting for a forward pass.", by_forward
        )
        self._batch_oldest = self.gauge(
            "loreglass_batch_oldest_wait_seconds", "Age of the oldest waiting item.", by_forward
        )
        self._waiting = self.gauge("loreglass_engine_waiting", "Calls waiting for the engine.")
        self._running = self.gauge("loreglass_engine_running", "Calls in progress in the engine.")
        self._oldest = self.gauge("loreglass_engine_oldest_wait_seconds", "Age of the oldest waiting call.")
        self._refused = self.counter(
            "loreglass_engine_refused_total", "Calls refused because the queue was full.", ("service",)
        )
        by_device = ("service", "device")
        self.memory_peak = self.gauge(
            "loreglass_accelerator_memory_peak_bytes",
            "Peak GPU memory of the model.",
            by_device,
        )
        self.memory_share = self.gauge(
            "loreglass_accelerator_memory_share_bytes", "GPU memory that this service may use.", by_device
        )

    def _of_stores(self) -> None:
        self._cache_lookups = self.counter(
            "loreglass_cache_lookups_total",
            "Cache lookups by outcome.",
            ("service", "cache", "outcome"),
        )
        self._ingested = self.counter(
            "loreglass_ingested_total", "Items written to the index.", ("service", "kind")
        )

    def counter(self, name: str, text: str, labels: tuple[str, ...]) -> Counter:
        """A counter in this app's registry."""
        return Counter(name, text, labels, registry=self.registry)

    def gauge(self, name: str, text: str, labels: tuple[str, ...] = ("service",)) -> Gauge:
        """A gauge in this app's registry."""
        return Gauge(name, text, labels, registry=self.registry)

    def begin(self) -> None:
        """A request came."""
        self._working.inc()

    def observe(self, route: str, method: str, status: int, seconds: float, problem: str = "") -> None:
        """Count one finished request; `problem` is the kind of error that it ended with."""
        self._working.dec()
        method = known_method(method)
        self._counted(route, method, status).inc()
        self._timed(route, method).observe(seconds, exemplar())
        if problem == ErrorKind.DEADLINE_EXCEEDED:
            self.deadline_exceeded.labels(self.service, route).inc()

    def _counted(self, route: str, method: str, status: int) -> Counter:
        """Kept: finding a child by its labels costs more than counting."""
        key = route, method, status
        if key not in self._requests:
            self._requests[key] = self.requests.labels(self.service, route, method, str(status))
        return self._requests[key]

    def _timed(self, route: str, method: str) -> Histogram:
        key = route, method
        if key not in self._seconds:
            self._seconds[key] = self.seconds.labels(self.service, route, method)
        return self._seconds[key]

    def watch(self, accelerator: Accelerator) -> None:
        """Report the memory of a GPU at each scrape; nothing for the CPU."""
        if accelerator.memory_bytes:
            self.memory_share.labels(self.service, accelerator.device).set(accelerator.memory_bytes)
            peak = self.memory_peak.labels(self.service, accelerator.device)
            peak.set_function(accelerator.peak_memory_bytes)

    def watch_pool(self, pool: Pool) -> None:
        """Report at each scrape what waits for the engine and what it works on."""
        self._waiting.labels(self.service).set_function(lambda: pool.waiting)
        self._running.labels(self.service).set_function(lambda: pool.running)
        self._oldest.labels(self.service).set_function(lambda: pool.oldest_wait_s)

    def watch_batches(self, forward: str, batches: Queue) -> None:
        """Report at each scrape what waits for a model's forward passes."""
        self._batch_waiting.labels(self.service, forward).set_function(lambda: batches.waiting)
        self._batch_oldest.labels(self.service, forward).set_function(lambda: batches.oldest_wait_s)

    def watch_wire(self, connections: Callable[[], float], held_bytes: Callable[[], float]) -> None:
        """Report at each scrape what callers have open, and what of them is held."""
        self._connections.labels(self.service).set_function(connections)
        self._held.labels(self.service).set_function(held_bytes)

    def wire_refused(self) -> Callable[[str], None]:
        """Return a function that counts connections and requests refused before they are read, by reason."""
        return lambda reason: self._wire_refused.labels(self.service, reason).inc()

    def refused(self) -> Callable[[], None]:
        """Return a function that counts a call for which the engine's queue is full."""
        return self._refused.labels(self.service).inc

    def lookups(self, cache: str) -> Callable[[bool], None]:
        """Return a function that counts the hits and misses of a cache."""
        hits, misses = (self._cache_lookups.labels(self.service, cache, each) for each in ("hit", "miss"))
        return lambda is_hit: (hits if is_hit else misses).inc()

    def ingested(self, kind: str, count: int) -> None:
        """Count what was written to the index."""
        self._ingested.labels(self.service, kind).inc(count)

    def describe(self, about: Callable[[], Info]) -> None:
        """Report at each scrape what the app is and runs on."""
        self.registry.register(_BuildInfo(about))

    def exposition(self, accept: str = "", by_tenant: bool = True) -> tuple[bytes, str]:
        """Return the metrics and their media type: OpenMetrics, with exemplars, if it is accepted.

        `by_tenant`: with those that have a label `tenant`.
        """
        registry: Collector = self.registry if by_tenant else _WithoutTenants(self.registry)
        if accepts_openmetrics(accept):
            text: bytes = openmetrics.generate_latest(registry)  # type: ignore[no-untyped-call]
            return text, openmetrics.CONTENT_TYPE_LATEST
        return generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4


class _WithoutTenants(Collector):
    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for family in self._registry.collect():
            if not any(_TENANT in sample.labels for sample in family.samples):
                yield family


class _BuildInfo(Collector):
    """Asked at each scrape: the device is known once the engine is open."""

    def __init__(self, about: Callable[[], Info]) -> None:
        self._about = about

    def collect(self) -> Iterator[Metric]:
        info = self._about()
        names = ("service", "version", "engine", "device")
        family = GaugeMetricFamily("loreglass_build_info", "Version, engine and device.", labels=names)
        family.add_metric([getattr(info, name) for name in names], 1)
        yield family


def accepts_openmetrics(accept: str) -> bool:
    """Return whether this `Accept` header asks for OpenMetrics."""
    for item in accept.lower().split(","):
        kind, *parameters = (part.strip() for part in item.split(";"))
        if kind == _OPENMETRICS:
            return not any(part.replace(" ", "").rstrip("0.") == "q=" for part in parameters)
    return False


class GuardMetrics:
    """Metrics of the guards before an app's dependencies."""

    def __init__(self, registry: CollectorRegistry) -> None:
        by_dependency = ("dependency",)
        self._open = Gauge(
            "loreglass_breaker_open",
            "1 while the circuit breaker of a dependency is open.",
            by_dependency,
            registry=registry,
        )
        self._limit = Gauge(
            "loreglass_concurrency_limit",
            "Concurrent calls that a dependency may have.",
            by_dependency,
            registry=registry,
        )
        self._retries = Counter(
            "loreglass_retries_total", "Calls that were retried.", by_dependency, registry=registry
        )
        self._calls = Counter(
            "loreglass_calls_total",
            "Calls to a dependency by outcome.",
            ("dependency", "outcome"),
            registry=registry,
        )
        # What a series is looked up by costs more than counting in it: they are looked up once.
        self._series = cache(
            lambda name: (self._open.labels(name), self._limit.labels(name), self._retries.labels(name))
        )
        self._ended = cache(lambda name, outcome: self._calls.labels(name, outcome.value))

    def start(self, dependency: str, limit: float) -> None:
        """The values before the first call, so that a dependency without calls has its series."""
        is_open, at_once, _ = self._series(dependency)
        is_open.set(0)
        at_once.set(limit)

    def observe(self, event: GuardEvent) -> None:
        """Count one call."""
        self._ended(event.dependency, event.outcome).inc()
        is_open, at_once, retries = self._series(event.dependency)
        is_open.set(event.breaker is not BreakerState.CLOSED)
        if event.attempts > 1:
            retries.inc(event.attempts - 1)
        if event.limit:
            at_once.set(event.limit)
