"""Spans that a test can look at, recorded by the SDK."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import Mock, patch

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from chassis.telemetry.spans import _Switch, exchange_span


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
