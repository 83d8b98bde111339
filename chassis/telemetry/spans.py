"""Spans of the request in hand; nothing but a call or two while telemetry is off.

`span` is for everyone. Only work within an exchange is recorded, so that probes, scrapes and what runs in
the background make no traces.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from chassis.startup import CannotStart, sentence_of
from chassis.telemetry.tracing import CALLER, TRACE_ID, TRACEPARENT, TRACESTATE, new_span_id, traceparent
from contracts import headers

if TYPE_CHECKING:
    from chassis.telemetry.otlp import OpenTelemetry

Attribute = str | int | float | bool
Kind = Literal["internal", "client"]


class Span:
    """A piece of work with its time. This one is not recorded: its methods do nothing."""

    __slots__ = ()
    recorded = False

    def set(self, **attributes: Attribute) -> None:
        """Say more of the work. Never what a question or a photo holds."""

    def rename(self, name: str) -> None:
        """Call it by what is known of it by now."""

    def failed(self, kind: str) -> None:
        """The work failed; `kind` is an error kind or the name of an exception's class."""

    def child(self, name: str, kind: Kind, attributes: Mapping[str, Attribute]) -> "Span":
        """A span within this one."""
        return UNRECORDED

    def traceparent(self, trace_id: str) -> str:
        """Return the `traceparent` of a call within this span: a new span, sampled if the caller's is."""
        caller = CALLER.get()
        return traceparent(trace_id, new_span_id(), sampled=caller is not None and caller.sampled)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


UNRECORDED = Span()
CURRENT: ContextVar[Span] = ContextVar("current_span", default=UNRECORDED)


def span(name: str, kind: Kind = "internal", **attributes: Attribute) -> Span:
    """`with span("stage look") as work: …`: a part of the request in hand.

    What is raised inside marks it as failed by its kind, without its text; being cancelled is no failure.
    """
    return CURRENT.get().child(name, kind, attributes)


def trace_headers() -> dict[str, str]:
    """Return the trace headers of a call to another service; empty outside of a request."""
    trace_id = TRACE_ID.get()
    if trace_id is None:
        return {}
    sent = {headers.TRACE: trace_id, TRACEPARENT: CURRENT.get().traceparent(trace_id)}
    caller = CALLER.get()
    if caller is not None and caller.state:
        sent[TRACESTATE] = caller.state
    return sent


_NEEDS = "it comes with loreglass[telemetry]"


class _Switch:
    """The recorder of this process. Not a context variable: servers choose their contexts themselves."""

    recorder: "OpenTelemetry | None" = None


def exchange_span(service: str, name: str, *, at_the_edge: bool = False) -> Span:
    """Return the span of a service's work for one request, in the trace of `TRACE_ID` and `CALLER`.

    `at_the_edge`: it is decided here whether the span is sampled, whatever the caller says.
    """
    recorder = _Switch.recorder
    return UNRECORDED if recorder is None else recorder.exchange(service, name, at_the_edge=at_the_edge)


@contextlib.contextmanager
def open_telemetry(exporters: Sequence[str]) -> Iterator[None]:
    """Record spans and export them; with no exporter nothing is done (`TelemetrySettings.exporters`).

    Raises `CannotStart` where it is asked for and cannot be had. Spans that wait are flushed at the end.
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
