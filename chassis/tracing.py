"""The trace id of the request in hand, so that calls to other services carry it along."""

from contextvars import ContextVar

TRACE_ID: ContextVar[str | None] = ContextVar("trace_id", default=None)
"""Set by the exchange middleware; tasks that a request starts inherit it."""
