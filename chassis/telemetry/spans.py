"""Spans of the request in hand; nothing but a call or two while telemetry is off.

`span` is for everyone. Only work within an exchange is recorded, so that probes, scrapes and what runs in
the background make no traces.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import Literal, Self

from chassis.telemetry.tracing import CALLER, TRACE_ID, TRACEPARENT, TRACESTATE, new_span_id, traceparent
from contracts import headers

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
