"""Spans by the OpenTelemetry SDK, sent in batches from a thread of its own.

The SDK reads the rest of its usual variables itself: sampler, endpoint, headers, batch sizes, resource.
Names and attributes are those of its semantic conventions for HTTP.
"""

import threading
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler, SamplingResult

from chassis.telemetry.spans import TRACE_ID

_SCOPE = "loreglass"
_FLUSH_S = 2.0


class OpenTelemetry:
    """The recorder: a tracer an app, named for it, and one exporting thread for all of them.

    Several apps of one process are several services in a trace, as they are in containers. `close` takes
    two seconds at most, whatever the collector does.
    """

    def __init__(self, exporters: Sequence[str]) -> None:
        made = [_EXPORTERS[name]() for name in exporters]
        self._processors = [(BatchSpanProcessor(exporter), exporter) for exporter in made]
        self._tracers: dict[tuple[str, bool], trace.Tracer] = {}
        self._lock = threading.Lock()
        self.tracer("gateway")  # what is wrong with the variables is said now

    def close(self) -> None:
        """Send what waits."""
        for processor, exporter in self._processors:
            flushing = threading.Thread(target=processor.shutdown, name="telemetry-flush", daemon=True)
            flushing.start()
            flushing.join(_FLUSH_S)
            if flushing.is_alive():
                exporter.shutdown()  # ends its attempts

    def tracer(self, service: str, at_the_edge: bool = False) -> trace.Tracer:
        """Return the tracer of an app; `at_the_edge` as in `chassis.telemetry.spans.exchange_span`."""
        key = service, at_the_edge
        with self._lock:
            if key not in self._tracers:
                provider = self._provider(service)
                if at_the_edge:
                    provider.sampler = _EdgeSampler(provider.sampler)
                self._tracers[key] = provider.get_tracer(_SCOPE, version("loreglass"))
            return self._tracers[key]

    def _provider(self, service: str) -> TracerProvider:
        provider = TracerProvider(
            resource=_resource(service), shutdown_on_exit=False, id_generator=_RequestsIds()
        )
        for processor, _ in self._processors:
            provider.add_span_processor(processor)
        return provider


class _EdgeSampler(Sampler):
    """Sample each request as a new trace: an untrusted client's flag and trace id do not decide.

    Spans within a request share its decision.
    """

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler

    def should_sample(
        self, parent_context: Context | None, trace_id: int, name: str, *arguments: Any, **more: Any
    ) -> SamplingResult:
        parent = trace.get_current_span(parent_context).get_span_context()
        if parent.is_valid and not parent.is_remote:
            settled = ALWAYS_ON if parent.trace_flags.sampled else ALWAYS_OFF
            return settled.should_sample(parent_context, trace_id, name, *arguments, **more)
        drawn = RandomIdGenerator().generate_trace_id()
        result = self._sampler.should_sample(Context(), drawn, name, *arguments, **more)
        return SamplingResult(result.decision, result.attributes, parent.trace_state)

    def get_description(self) -> str:
        return f"Edge{{{self._sampler.get_description()}}}"


class _RequestsIds(RandomIdGenerator):
    """A trace that begins here has the id that the request already has."""

    def generate_trace_id(self) -> int:
        trace_id = TRACE_ID.get()
        return int(trace_id, 16) if trace_id else super().generate_trace_id()

    def is_trace_id_random(self) -> bool:
        """Return False: a caller may have chosen the id."""
        return False


def _otlp() -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


_EXPORTERS: dict[str, Callable[[], SpanExporter]] = {"otlp": _otlp, "console": ConsoleSpanExporter}


def _resource(service: str) -> Resource:
    """The environment's name for the process goes before ours."""
    resource = Resource.create({SERVICE_VERSION: version("loreglass")})
    named = str(resource.attributes.get(SERVICE_NAME, ""))
    if named and not named.startswith("unknown_service"):
        return resource
    return resource.merge(Resource({SERVICE_NAME: f"loreglass-{service.replace('_', '-')}"}))
