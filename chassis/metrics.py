"""Prometheus metrics of one app; each app has a registry of its own, so that several fit in one process."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

LATENCY_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 7.5, 10, 15)


class Metrics:
    """RED by route template, plus what an app adds of its own."""

    def __init__(self, service: str) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "loreglass_requests_total",
            "Requests by route template and status.",
            ("service", "route", "method", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "loreglass_request_seconds",
            "Time from the first byte read to the last byte sent.",
            ("service", "route", "method"),
            buckets=LATENCY_BUCKETS_S,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "loreglass_requests_in_flight", "Requests being worked on.", ("service",), registry=self.registry
        )
        self.service = service

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one finished request."""
        self.requests.labels(self.service, route, method, str(status)).inc()
        self.seconds.labels(self.service, route, method).observe(seconds)

    def exposition(self) -> bytes:
        """The text format that Prometheus scrapes."""
        return generate_latest(self.registry)
