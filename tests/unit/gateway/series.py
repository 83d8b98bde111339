"""A gateway's metrics as a scrape sees them, and spans as the SDK records them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import Mock, patch

import httpx
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from chassis.telemetry.spans import _Switch, exchange_span


@dataclass(frozen=True, slots=True)
class Scrape:
    """All samples of one moment, by name and labels."""

    samples: dict[tuple[str, frozenset[tuple[str, str]]], float]

    def value(self, name: str, **labels: str) -> float | None:
        """The sample with exactly these labels; None where there is none."""
        return self.samples.get((name, frozenset(labels.items())))

    def total(self, name: str, **labels: str) -> float:
        """The sum over all samples of that name with these labels, among others perhaps."""
        wanted = set(labels.items())
        return sum(value for (each, has), value in self.samples.items() if each == name and wanted <= has)

    def labels(self, name: str, label: str) -> set[str]:
        """The values of one label."""
        return {dict(has)[label] for each, has in self.samples if each == name}


def read(text: str) -> Scrape:
    """The exposition as samples."""
    return Scrape(
        {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }
    )


async def scrape(client: httpx.AsyncClient) -> Scrape:
    """What `client`'s gateway measures now."""
    return read((await client.get("/metrics")).raise_for_status().text)


class Recording:
    """The spans of one request, in the order of their start."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = provider.get_tracer("test")

    @property
    def request(self) -> ReadableSpan:
        """The request's own span."""
        return next(span for span in self._exporter.get_finished_spans() if span.parent is None)

    @property
    def children(self) -> list[ReadableSpan]:
        """The spans directly within the request's."""
        spans, outer = self._exporter.get_finished_spans(), self.request.context
        inner = [span for span in spans if span.parent and outer and span.parent.span_id == outer.span_id]
        return sorted(inner, key=lambda span: span.start_time or 0)


@contextmanager
def recording() -> Iterator[Recording]:
    """A request that is recorded."""
    made = Recording()
    recorder = Mock(tracer=lambda *_: made.tracer)
    with patch.object(_Switch, "recorder", recorder), exchange_span("gateway", "request"):
        yield made
