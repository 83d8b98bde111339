"""Records of exchanges, which are compared with the objectives."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from pydantic import TypeAdapter

from bench.wearers.replies import Reply
from contracts.answer import Reason
from contracts.errors import ErrorKind


class Fate(StrEnum):
    """How a question ended; each in exactly one way. Missed: refused because its time was over."""

    FULL = "full"
    DEGRADED = "degraded"
    REFUSED = "refused"
    MISSED = "missed"
    LATE = "late"
    SHED = "shed"
    FAILED = "failed"
    REJECTED = "rejected"


class Asked(StrEnum):
    """What a wearer did."""

    PHOTO = "photo"
    FOLLOW_UP = "follow-up"
    IMPOSSIBLE = "impossible"
    FORGET = "forget"


@dataclass(frozen=True, slots=True)
class Record:
    """One exchange. `sent`: seconds since the epoch; `ms`, `first_ms`: until its last byte, and its first."""

    asked: Asked
    sent: float
    ms: float
    first_ms: float
    late_after_ms: float
    streamed: bool
    priority: str
    users: int
    status: int
    problem: str = ""
    retry_after: bool = False
    trouble: str = ""
    reason: str = ""
    route: str = ""
    abstained: bool = False
    degraded: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)

    @property
    def fate(self) -> Fate:
        """How it ended."""
        if (self.status == 503 and self.retry_after) or self.reason == Reason.OVERLOADED:
            return Fate.SHED
        if self.reason == Reason.TIMED_OUT or self.problem == ErrorKind.DEADLINE_EXCEEDED:
            return Fate.MISSED
        if self.status == 0 or self.status >= 500:
            return Fate.FAILED
        if self.status >= 400:
            return Fate.REJECTED
        if self.ms > self.late_after_ms:
            return Fate.LATE
        if self.abstained:
            return Fate.REFUSED
        return Fate.DEGRADED if self.degraded else Fate.FULL

    @property
    def is_server_error(self) -> bool:
        """No reply, or a status from 500 that is not 503 with `Retry-After`."""
        return self.status == 0 or (self.status >= 500 and self.fate is not Fate.SHED)


def of_reply(reply: Reply) -> dict[str, Any]:
    """The fields of a record that the reply tells."""
    told: dict[str, Any] = {
        "status": reply.status,
        "problem": reply.problem,
        "retry_after": reply.retry_after,
        "trouble": reply.trouble,
    }
    answer = reply.answer
    if answer is not None:
        told |= {"reason": answer.reason.value, "route": answer.route.value, "abstained": answer.abstained}
        told |= {"degraded": tuple(answer.degraded), "timings_ms": dict(answer.timings_ms)}
    return told


@dataclass(frozen=True, slots=True)
class Verdict:
    """One objective: whether it was held, and the sentence that says how."""

    name: str
    held: bool
    sentence: str


Samples = Sequence[tuple[float, float]]
"""(seconds since the epoch, bytes of resident memory), in order."""


@dataclass(frozen=True, slots=True)
class Results:
    """One run: `seconds` as planned (0: until it was stopped)."""

    shape: str
    host: str
    users: int
    seconds: float
    started: float
    records: Sequence[Record]
    memory: Mapping[str, Samples] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()

    def write(self, path: Path) -> None:
        """As JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self)), "utf-8")

    @classmethod
    def read(cls, path: Path) -> Self:
        """What `write` wrote."""
        return TypeAdapter(cls).validate_json(path.read_bytes())


def records_of(rows: Sequence[Mapping[str, Any]]) -> list[Record]:
    """Those that another process sent as plain mappings."""
    return TypeAdapter(list[Record]).validate_python(list(rows))
