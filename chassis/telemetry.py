"""Spans of the request in hand, for OpenTelemetry; nothing but a call or two while it is off.

`span` is for everyone. Only work within an exchange is recorded, so that probes, scrapes and what runs in
the background make no traces. `chassis.otlp` does the recording and is imported when telemetry is on.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import Literal, Protocol, Self

from chassis.startup import CannotStart, sentence_of
from chassis.tracing import CALLER, TRACE_ID, TRACEPARENT, TRACESTATE, new_span_id, traceparent
from contracts import headers

Attribute = str | int | float | bool
Kind = Literal["internal", "client"]
_NEEDS = "it comes with loreglass[telemetry]"


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
        """What a call made within this span says of it: a new parent, kept if the caller's is."""
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


class Recorder(Protocol):
    """Where the spans of exchanges begin, while telemetry is on."""

    def exchange(self, service: str, name: str, *, at_the_edge: bool) -> Span:
        """The span of a service's work for one request, in the trace of `TRACE_ID` and `CALLER`.

        `at_the_edge`: whether it is kept is decided here, whatever the caller says.
        """
        ...


class _Switch:
    """The recorder of this process. Not a context variable: servers choose their contexts themselves."""

    recorder: Recorder | None = None


def span(name: str, kind: Kind = "internal", **attributes: Attribute) -> Span:
    """`with span("stage look") as work: …`: a part of the request in hand.

    What is raised inside marks it as failed by its kind, without its text; being cancelled is no failure.
    """
    return CURRENT.get().child(name, kind, attributes)


def exchange_span(service: str, name: str, *, at_the_edge: bool = False) -> Span:
    """The span of a whole request; `TRACE_ID` and `CALLER` are set. See `Recorder`."""
    recorder = _Switch.recorder
    return UNRECORDED if recorder is None else recorder.exchange(service, name, at_the_edge=at_the_edge)


def trace_headers() -> dict[str, str]:
    """What a call to another service carries of the trace of the request in hand; nothing without one."""
    trace_id = TRACE_ID.get()
    if trace_id is None:
        return {}
    sent = {headers.TRACE: trace_id, TRACEPARENT: CURRENT.get().traceparent(trace_id)}
    caller = CALLER.get()
    if caller is not None and caller.state:
        sent[TRACESTATE] = caller.state
    return sent


@contextlib.contextmanager
def open_telemetry(exporters: Sequence[str]) -> Iterator[None]:
    """Record spans and export them; with no exporter nothing is done (`TelemetrySettings.exporters`).

    Raises `CannotStart` where it is asked for and cannot be had. Spans that wait are flushed at the end.
    """
    if not exporters:
        yield
        return
    try:
        from chassis.otlp import OpenTelemetry
    except ImportError as error:
        raise CannotStart(f"Traces cannot be exported: {sentence_of(error)} ({_NEEDS}).") from error
    recorder = OpenTelemetry(exporters)
    _Switch.recorder = recorder
    try:
        yield
    finally:
        _Switch.recorder = None
        recorder.close()
