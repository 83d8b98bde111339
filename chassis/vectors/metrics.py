"""What a service with vectors has published, for Prometheus."""

from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from chassis.errors import LoreglassError
from chassis.telemetry.metrics import Metrics
from chassis.vectors.port import VectorStore


class _PublishedPoints(Collector):
    """Asked at each scrape: another replica, or the store's operator, may publish too."""

    def __init__(self, service: str, store: VectorStore) -> None:
        self._service = service
        self._store = store

    def collect(self) -> Iterator[Metric]:
        """Points by alias: versions come and go, and would each make a series. Nothing while the store is
        away; readiness tells of that.
        """
        family = GaugeMetricFamily(
            "loreglass_collection_points", "Points in what an alias points at.", labels=["service", "alias"]
        )
        try:
            collections = self._store.collections()
        except LoreglassError:
            collections = []
        for info in collections:
            for alias in info.aliases:
                family.add_metric([self._service, alias], info.points)
        yield family


def watch_published(metrics: Metrics, store: VectorStore) -> None:
    """Report what is published at each scrape."""
    metrics.registry.register(_PublishedPoints(metrics.service, store))
