"""The trace of the current request: its id, and the caller's span (W3C Trace Context)."""

import logging
import re
from contextvars import ContextVar

from opentelemetry.context import Context
from opentelemetry.trace import SpanContext, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

TRACE_ID: ContextVar[str | None] = ContextVar("trace_id", default=None)
"""Set by the exchange middleware; tasks and engine calls that a request starts inherit it."""

PROPAGATOR = TraceContextTextMapPropagator()
TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
"""Header names (W3C Trace Context, sections 3.2 and 3.3)."""

_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
_LONGEST_STATE = 512  # what the recommendation asks everyone to pass on; longer ones are dropped whole

logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
"""It would log headers as callers wrote them."""
logging.getLogger("opentelemetry.exporter").setLevel(logging.ERROR)


def is_trace_id(text: str) -> bool:
    """Return whether `text` is 32 lower-case hex digits, not all of them zero."""
    return _TRACE_ID.fullmatch(text) is not None


def read_caller(traceparent: str, tracestate: str = "") -> SpanContext | None:
    """Return the caller's span; None if `traceparent` is malformed. A malformed `tracestate` is dropped."""
    state = tracestate if len(tracestate) <= _LONGEST_STATE else ""
    extracted = PROPAGATOR.extract({TRACEPARENT: traceparent, TRACESTATE: state}, Context())
    caller = get_current_span(extracted).get_span_context()
    return caller if caller.is_valid else None
