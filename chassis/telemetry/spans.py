"""Spans of the current request, by OpenTelemetry's API.

Without an exporter nothing is recorded, and the caller's trace is passed on. Only work within a request is
recorded: probes, scrapes and background work make no traces.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from opentelemetry.context import Context, attach, detach, get_value, set_value
from opentelemetry.trace import (
    INVALID_SPAN,
    NonRecordingSpan,
    NoOpTracer,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    Tracer,
    set_span_in_context,
)

from chassis.errors import LoreglassError
from chassis.startup import CannotStart, sentence_of
from chassis.telemetry.tracing import PROPAGATOR, TRACE_ID
from contracts import headers

if TYPE_CHECKING:
    from chassis.telemetry.otlp import OpenTelemetry

Attribute = str | int | float | bool
_TRACER = "loreglass_tracer"
_NEEDS = "it comes with loreglass[telemetry]"


@contextmanager
def span(
    name: str, attributes: Mapping[str, Attribute] | None = None, kind: SpanKind = SpanKind.INTERNAL
) -> Iterator[Span]:
    """Record a part of the current request: `with span("stage look") as work: …`.

    Attributes never hold what a question or a photo does. An exception marks the span as failed by its
    kind, without its text; a cancelled span has not failed.
    """
    tracer = cast(Tracer | None, get_value(_TRACER))
    if tracer is None:
        yield INVALID_SPAN
    else:
        with _current(tracer, tracer.start_span(name, None, kind, attributes)) as current:
            yield current


@contextmanager
def exchange_span(
    service: str, name: str, caller: SpanContext | None = None, *, at_the_edge: bool = False
) -> Iterator[Span]:
    """Record a service's work for one request, in the trace of `caller` or else of `TRACE_ID`.

    `at_the_edge`: this process decides whether the span is sampled, whatever the caller says.
    """
    recorder = _Switch.recorder
    tracer = recorder.tracer(service, at_the_edge) if recorder else None
    parent = set_span_in_context(NonRecordingSpan(caller), Context()) if caller else Context()
    started = (tracer or NoOpTracer()).start_span(name, parent, SpanKind.SERVER)
    with _current(tracer, started) as current:
        yield current


@contextmanager
def _current(tracer: Tracer | None, started: Span) -> Iterator[Span]:
    token = attach(set_value(_TRACER, tracer, set_span_in_context(started)))
    try:
        yield started
    except LoreglassError as error:
        mark_failed(started, error.kind.value)
        raise
    except Exception as error:
        mark_failed(started, type(error).__qualname__)
        raise
    except BaseException:
        started.set_attribute("loreglass.cancelled", True)
        raise
    finally:
        detach(token)
        started.end()


def mark_failed(failed: Span, kind: str) -> None:
    """Mark the span as failed; `kind` is an error kind or the name of an exception's class."""
    failed.set_attribute("error.type", kind)
    failed.set_status(StatusCode.ERROR)


def trace_headers() -> dict[str, str]:
    """Return the trace headers of a call to another service; empty outside of a request."""
    trace_id = TRACE_ID.get()
    if trace_id is None:
        return {}
    carrier = {headers.TRACE: trace_id}
    PROPAGATOR.inject(carrier)
    return carrier


class _Switch:
    """The recorder of this process. Not a context variable: servers choose their contexts themselves."""

    recorder: "OpenTelemetry | None" = None


@contextmanager
def open_telemetry(exporters: Sequence[str]) -> Iterator[None]:
    """Record spans and export them; without exporters do nothing (`TelemetrySettings.exporters`).

    Raises `CannotStart` if an exporter is not installed. Waiting spans are sent at the end.
    """
    if not exporters:
        yield
        return
    try:
        from chassis.telemetry.otlp import OpenTelemetry
    except ImportError as error:
        raise CannotStart(f"Traces cannot be exported: {sentence_of(error)} ({_NEEDS}).") from error
    recorder = OpenTelemetry(exporters)
    _Switch.recorder = recorder
    try:
        yield
    finally:
        _Switch.recorder = None
        recorder.close()
