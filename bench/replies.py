"""Replies as benchmarks and load tests count them, and how each question ends."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

NO_REPLY = "no reply"
"""The kind of a request whose caller gave up."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply. `status` 0: none came. `kind`: an answer's reason, a problem's kind, or the client's error."""

    status: int
    kind: str = ""
    answered: bool = False
    degraded: tuple[str, ...] = ()


class Fate(StrEnum):
    """How a question ended: always in exactly one way. Refused: by an answer that says why."""

    FULL = "full"
    DEGRADED = "degraded"
    REFUSED = "refused"
    TIMED_OUT = "timed out"
    TURNED_AWAY = "turned away"
    LATE = "late"
    FAILED = "failed"


def reply_of(status: int, content: bytes) -> Reply:
    """Read an answer's body, or a problem's."""
    try:
        body: dict[str, Any] = json.loads(content)
    except ValueError:
        return Reply(status, "unreadable")
    if status != 200:
        return Reply(status, str(body.get("type", "")).rpartition(":")[2])
    return Reply(
        status, body.get("reason", ""), not body.get("abstained", True), tuple(body.get("degraded", ()))
    )


def fate_of(reply: Reply, ms: float, deadline_ms: float) -> Fate:
    """Return how a question ended that took `ms` to its last byte."""
    if ms > deadline_ms and (reply.status in (200, 503) or reply.kind == NO_REPLY):
        return Fate.LATE
    if reply.status not in (200, 503):
        return Fate.FAILED
    if reply.status == 503 or reply.kind == "overloaded":
        return Fate.TURNED_AWAY
    if reply.kind == "timed_out":
        return Fate.TIMED_OUT
    if not reply.answered:
        return Fate.REFUSED
    return Fate.DEGRADED if reply.degraded else Fate.FULL
