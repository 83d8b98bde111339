"""Prometheus metrics of one app; each app has a registry of its own, so that several fit in one process."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, Protocol

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
from chassis.telemetry.spans import TRACE_ID
from contracts.errors import ErrorKind
from contracts.operations import Info

BATCH_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128)
LATENCY_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 7.5, 10, 15)
_TENANT = "tenant"
_OPENMETRICS = "application/openmetrics-text"
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_OTHER_METHOD = "_OTHER"
"""As in OpenTelemetry's conventions: an untrusted client must not create series by inventing methods."""


def known_method(method: str) -> str:
    """Return the method if it is one of HTTP's, else `_OTHER`."""
    return method if method in _METHODS else _OTHER_METHOD


def exemplar() -> dict[str, str] | None:
    """Return the current trace as an exemplar, for `observe(…, exemplar())`."""
    trace_id = TRACE_ID.get()
    return {"trace_id": trace_id} if trace_id else None


counter: Callable[..., partial[Any]] = partial(partial, Counter)
gauge: Callable[..., partial[Any]] = partial(partial, Gauge)
histogram: Callable[..., partial[Any]] = partial(partial, Histogram)


def series_of(registry: CollectorRegistry, table: Sequence[partial[Any]]) -> Callable[..., Any]:
    """Return a function that finds the series of a metric, by its name and labels; it is shown from then on.

    A row of the table: `counter(name, help text, labels)`, or another kind's.
    """
    metrics = {row.args[0]: row(registry=registry) for row in table}
    # Cached: to find a series by its labels costs more than to count with it.
    return cache(lambda name, *labels: metrics[name].labels(*labels) if labels else metrics[name])


class Queue(Protocol):
    """Work before an engine; read from a scrape's thread."""

    @property
    def waiting(self) -> int: ...

    @property
    def oldest_wait_s(self) -> float: ...


_SERVICE = ("service",)
_BY_ROUTE = ("service", "route", "method")
_BY_FORWARD = ("service", "forward")
_BY_DEVICE = ("service", "device")
_METRICS = (
    counter("loreglass_requests_total", "Requests by route template and status.", (*_BY_ROUTE, "status")),
    histogram(
        "loreglass_request_seconds",
        "Duration of requests, from the first byte read to the last byte sent.",
        _BY_ROUTE,
        buckets=LATENCY_BUCKETS_S,
    ),
    gauge("loreglass_requests_in_flight", "Requests in progress.", _SERVICE),
    counter(
        "loreglass_deadline_exceeded_total", "Requests that ended at their deadline.", ("service", "route")
    ),
    gauge("loreglass_connections", "Open connections.", _SERVICE),
    gauge("loreglass_upload_bytes", "Bytes of request bodies in memory, or announced.", _SERVICE),
    counter(
        "loreglass_connections_refused_total",
        "Connections and requests refused before they were read, by reason.",
        ("service", "reason"),
    ),
    histogram(
        "loreglass_batch_items", "Items in a forward pass of a model.", _BY_FORWARD, buckets=BATCH_BUCKETS
    ),
    gauge("loreglass_batch_waiting_items", "Items waiting for a forward pass.", _BY_FORWARD),
    gauge("loreglass_batch_oldest_wait_seconds", "Age of the oldest waiting item.", _BY_FORWARD),
    gauge("loreglass_engine_waiting", "Calls waiting for the engine.", _SERVICE),
    gauge("loreglass_engine_running", "Calls in progress in the engine.", _SERVICE),
    gauge("loreglass_engine_oldest_wait_seconds", "Age of the oldest waiting call.", _SERVICE),
    counter("loreglass_engine_refused_total", "Calls refused because the queue was full.", _SERVICE),
    gauge("loreglass_accelerator_memory_peak_bytes", "Peak GPU memory of the model.", _BY_DEVICE),
    gauge("loreglass_accelerator_memory_share_bytes", "GPU memory that this service may use.", _BY_DEVICE),
    counter("loreglass_cache_lookups_total", "Cache lookups by outcome.", ("service", "cache", "outcome")),
    counter("loreglass_ingested_total", "Items written to the index.", ("service", "kind")),
)
"""One row a metric: name, help text, labels."""


class Metrics:
    """Rate, errors and duration by route, the engine's queue, and an app's own metrics."""

    def __init__(self, service: str) -> None:
        # The library would add a second series to each, with the time it was made.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self.service = service
        self._series = series_of(self.registry, _METRICS)
        self._working = self._series("loreglass_requests_in_flight", service)
        ProcessCollector(registry=self.registry)

    def begin(self) -> None:
        """Count a request that begins."""
        self._working.inc()

    def observe(self, route: str, method: str, status: int, seconds: float, problem: str = "") -> None:
        """Count one finished request; `problem` is the kind of error that it ended with."""
        self._working.dec()
        labels = (self.service, route, known_method(method))
        self._series("loreglass_requests_total", *labels, str(status)).inc()
        self._series("loreglass_request_seconds", *labels).observe(seconds, exemplar())
        if problem == ErrorKind.DEADLINE_EXCEEDED:
            self._series("loreglass_deadline_exceeded_total", self.service, route).inc()

    def watch(self, accelerator: Accelerator) -> None:
        """Report the memory of a GPU at each scrape; nothing for the CPU."""
        if accelerator.memory_bytes:
            labels = (self.service, accelerator.device)
            self._series("loreglass_accelerator_memory_share_bytes", *labels).set(accelerator.memory_bytes)
            peak = self._series("loreglass_accelerator_memory_peak_bytes", *labels)
            peak.set_function(accelerator.peak_memory_bytes)

    def watch_pool(self, pool: Queue, running: Callable[[], int]) -> None:
        """Report the engine's waiting and running calls at each scrape."""
        self._watch("loreglass_engine_waiting", lambda: pool.waiting)
        self._watch("loreglass_engine_running", running)
        self._watch("loreglass_engine_oldest_wait_seconds", lambda: pool.oldest_wait_s)

    def batch_observer(self, forward: str) -> Callable[[float], None]:
        """Return a function that counts a forward pass with so many items."""
        observe: Callable[[float], None] = self._series(
            "loreglass_batch_items", self.service, forward
        ).observe
        return observe

    def watch_batches(self, forward: str, batches: Queue) -> None:
        """Report the items that wait for a model's forward passes at each scrape."""
        self._watch("loreglass_batch_waiting_items", lambda: batches.waiting, forward)
        self._watch("loreglass_batch_oldest_wait_seconds", lambda: batches.oldest_wait_s, forward)

    def watch_wire(self, connections: Callable[[], float], held_bytes: Callable[[], float]) -> None:
        """Report open connections and the bytes of uploads at each scrape."""
        self._watch("loreglass_connections", connections)
        self._watch("loreglass_upload_bytes", held_bytes)

    def _watch(self, name: str, read: Callable[[], float], *labels: str) -> None:
        self._series(name, self.service, *labels).set_function(read)

    def wire_refused(self) -> Callable[[str], None]:
        """Return a function that counts connections and requests refused before they are read, by reason."""
        return lambda reason: self._count("loreglass_connections_refused_total", reason)

    def refused(self) -> Callable[[], None]:
        """Return a function that counts a call for which the engine's queue is full."""
        self._count("loreglass_engine_refused_total", by=0)
        return lambda: self._count("loreglass_engine_refused_total")

    def lookups(self, cache: str) -> Callable[[bool], None]:
        """Return a function that counts the hits and misses of a cache."""
        for outcome in ("hit", "miss"):
            self._count("loreglass_cache_lookups_total", cache, outcome, by=0)
        return lambda is_hit: self._count("loreglass_cache_lookups_total", cache, "hit" if is_hit else "miss")

    def ingested(self, kind: str, count: int) -> None:
        """Count items written to the index."""
        self._count("loreglass_ingested_total", kind, by=count)

    def _count(self, name: str, *labels: str, by: int = 1) -> None:
        self._series(name, self.service, *labels).inc(by)

    def describe(self, about: Callable[[], Info]) -> None:
        """Report the app's version, engine and device at each scrape."""
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


_BY_DEPENDENCY = ("dependency",)
_GUARDS = (
    gauge("loreglass_breaker_open", "1 while the circuit breaker of a dependency is open.", _BY_DEPENDENCY),
    gauge("loreglass_concurrency_limit", "Concurrent calls that a dependency may have.", _BY_DEPENDENCY),
    counter("loreglass_retries_total", "Calls that were retried.", _BY_DEPENDENCY),
    counter("loreglass_calls_total", "Calls to a dependency by outcome.", ("dependency", "outcome")),
)


class GuardMetrics:
    """Metrics of the guards before an app's dependencies."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._series = series_of(registry, _GUARDS)

    def start(self, dependency: str, limit: float) -> None:
        """The values before the first call, so that a dependency without calls has its series."""
        self._series("loreglass_breaker_open", dependency).set(0)
        self._series("loreglass_concurrency_limit", dependency).set(limit)
        self._series("loreglass_retries_total", dependency)

    def observe(self, event: GuardEvent) -> None:
        """Count one call."""
        name = event.dependency
        self._series("loreglass_calls_total", name, event.outcome.value).inc()
        self._series("loreglass_breaker_open", name).set(event.breaker is not BreakerState.CLOSED)
        if event.attempts > 1:
            self._series("loreglass_retries_total", name).inc(event.attempts - 1)
        if event.limit:
            self._series("loreglass_concurrency_limit", name).set(event.limit)
