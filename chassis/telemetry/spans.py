"""The trace of the current request (W3C Trace Context) and its spans, by OpenTelemetry's API.

Without an exporter nothing is recorded, and the caller's trace is passed on. Only work within a request is
recorded: probes, scrapes and background work make no traces.
"""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
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
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from chassis.errors import LoreglassError
from chassis.startup import CannotStart, sentence_of
from contracts import headers

if TYPE_CHECKING:
    from chassis.telemetry.otlp import OpenTelemetry

Attribute = str | int | float | bool
TRACE_ID: ContextVar[str | None] = ContextVar("trace_id", default=None)
"""Set by the exchange middleware; tasks and engine calls that a request starts inherit it."""

_PROPAGATOR = TraceContextTextMapPropagator()
TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
"""Header names (W3C Trace Context, sections 3.2 and 3.3)."""

_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
_LONGEST_STATE = 512  # what the recommendation asks everyone to pass on; longer ones are dropped whole

logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
"""It would log headers as callers wrote them."""
logging.getLogger("opentelemetry.exporter").setLevel(logging.ERROR)

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
    _PROPAGATOR.inject(carrier)
    return carrier


def is_trace_id(text: str) -> bool:
    """Return whether `text` is 32 lower-case hex digits, not all of them zero."""
    return _TRACE_ID.fullmatch(text) is not None


def read_caller(traceparent: str, tracestate: str = "") -> SpanContext | None:
    """Return the caller's span; None if `traceparent` is malformed. A malformed `tracestate` is dropped."""
    state = tracestate if len(tracestate) <= _LONGEST_STATE else ""
    extracted = _PROPAGATOR.extract({TRACEPARENT: traceparent, TRACESTATE: state}, Context())
    caller = get_current_span(extracted).get_span_context()
    return caller if caller.is_valid else None


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
