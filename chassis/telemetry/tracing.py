"""The trace of the request in hand: its id, and what the caller said of it (W3C Trace Context).

What comes in is written by strangers: a header that breaks the recommendation is as good as none.
"""

import re
from contextvars import ContextVar
from dataclasses import dataclass
from os import urandom

TRACE_ID: ContextVar[str | None] = ContextVar("trace_id", default=None)
"""Set by the exchange middleware; tasks and engine calls that a request starts inherit it."""

TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
"""Header names (W3C Trace Context, sections 3.2 and 3.3)."""

_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
_TRACEPARENT = re.compile(
    r"(?!ff)(?P<version>[0-9a-f]{2})-(?P<trace>(?!0{32})[0-9a-f]{32})"
    r"-(?P<span>(?!0{16})[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(?P<later>-[\x21-\x7e]*)?"
)
_LONGEST_TRACEPARENT = 256
_SAMPLED = 0x01
_KEY = r"(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})"
_MEMBER = re.compile(_KEY + r"=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]")
_LONGEST_STATE = 512  # what the recommendation asks everyone to pass on; longer ones are dropped whole
_MOST_MEMBERS = 32


@dataclass(frozen=True, slots=True)
class Caller:
    """The span of the caller: 16 hex digits, whether it is kept, and its vendors' state, "" for none."""

    trace_id: str
    span_id: str
    sampled: bool
    state: str = ""


CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)
"""Set by the exchange middleware where the caller sent a `traceparent`."""


def is_trace_id(text: str) -> bool:
    """32 lower-case hex digits, not all of them zero."""
    return _TRACE_ID.fullmatch(text) is not None


def read_caller(traceparent: str | None, tracestate: str | None) -> Caller | None:
    """Return the caller's span; None if `traceparent` is missing or malformed.

    Of a version later than 00, the four fields that it must keep are read (section 3.2.3).
    """
    if not traceparent or len(traceparent) > _LONGEST_TRACEPARENT:
        return None
    match = _TRACEPARENT.fullmatch(traceparent)
    if match is None or (match["version"] == "00" and match["later"]):
        return None
    sampled = bool(int(match["flags"], 16) & _SAMPLED)
    return Caller(match["trace"], match["span"], sampled, _state(tracestate or ""))


def _state(text: str) -> str:
    """`text` where all of its members are well-formed and no key comes twice, else ""."""
    if len(text) > _LONGEST_STATE:
        return ""
    members = [member for part in text.split(",") if (member := part.strip(" \t"))]
    keys = {member.partition("=")[0] for member in members}
    if len(keys) != len(members) or len(members) > _MOST_MEMBERS:
        return ""
    return ",".join(members) if all(map(_MEMBER.fullmatch, members)) else ""


def traceparent(trace_id: str, span_id: str, *, sampled: bool) -> str:
    """The header's value, version 00."""
    return f"00-{trace_id}-{span_id}-{'01' if sampled else '00'}"


def new_span_id() -> str:
    """Return 16 random hex digits."""
    return urandom(8).hex()
