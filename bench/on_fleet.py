"""A gateway before a stand-in fleet of its own, the questions that it is asked, and what became of them."""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench.arrivals import Outcome
from bench.fleet import Fleet
from bench.generator import NO_REPLY, Body
from bench.photo import multipart, photo
from bench.processes import Running, running, until_ready
from capacity.standins import Calibration
from capacity.standins.scene import QUESTIONS
from contracts.answer import Route

DEADLINE_MS = 10_000
MIX: Mapping[Route, float] = {Route.DIRECT: 0.3, Route.VERIFY: 0.2, Route.RAG: 0.5}
"""Shares of the questions."""
STREAM_INTERVAL = 4
"""Tokens in one event of the model's stream, so that reading streams does not become the bottleneck here."""


@dataclass(frozen=True, slots=True)
class Platform:
    """A gateway and the node behind it."""

    fleet: Fleet
    gateway: Running

    @property
    def url(self) -> str:
        """Where questions go."""
        return f"{self.gateway.url}/answer"


@contextmanager
def platform(
    *arguments: str,
    seed: int = 1,
    apart: Collection[str] = (),
    settings: Mapping[str, str] | None = None,
    calibration: Calibration | None = None,
) -> Iterator[Platform]:
    """One calibrated node and a gateway with `settings` and `arguments` of `bench.gateway`."""
    with (
        Fleet(calibration or Calibration.l40s(), seed, apart) as fleet,
        gateway_before(fleet, *arguments, settings=settings) as made,
    ):
        yield made


@contextmanager
def gateway_before(
    fleet: Fleet, *arguments: str, settings: Mapping[str, str] | None = None
) -> Iterator[Platform]:
    """A gateway before a node that may have more of them."""
    given = {
        **fleet.gateway_environment,
        "LOREGLASS_GATEWAY_LATENCIES": "l40s",
        "LOREGLASS_GATEWAY_PHOTO_TO_DOMAIN_ROUTER": "true",
        "LOREGLASS_GATEWAY_PHOTO_TO_RERANKER": "true",
        "LOREGLASS_GATEWAY_LOG_LEVEL": "warning",
        **{f"LOREGLASS_GATEWAY_{name.upper()}": value for name, value in (settings or {}).items()},
    }
    with running("bench.gateway", *arguments, settings=given) as gateway:
        until_ready(gateway.url)
        yield Platform(fleet, gateway)


def asked(route: Route, pipeline: str = "loreglass", deadline_ms: int = DEADLINE_MS) -> Body:
    """The question that takes `route`, with a photo of 640 x 480."""
    fields = {"question": QUESTIONS[route], "pipeline": pipeline, "deadline_ms": str(deadline_ms)}
    return multipart(fields, photo(640, 480))


def mixed(count: int, seed: int) -> tuple[tuple[Body, ...], tuple[int, ...]]:
    """One body a route, and which of them each of `count` requests sends."""
    order = random.Random(seed).choices(range(len(MIX)), list(MIX.values()), k=max(1, count))
    return tuple(asked(route) for route in MIX), tuple(order)


@dataclass(frozen=True, slots=True)
class Fate:
    """How many requests ended in which way; each in exactly one. In time: within the deadline."""

    full: int = 0
    degraded: int = 0
    refused: int = 0
    late: int = 0
    failed: int = 0

    @property
    def all(self) -> int:
        """Every request."""
        return self.full + self.degraded + self.refused + self.late + self.failed

    @property
    def answered(self) -> int:
        """In time."""
        return self.full + self.degraded

    @property
    def honest(self) -> int:
        """Answered or refused in time."""
        return self.answered + self.refused


def fate_of(outcome: Outcome, deadline_ms: float = DEADLINE_MS) -> str:
    """One of the fields of `Fate`."""
    reply = outcome.reply
    if outcome.ms > deadline_ms and (reply.status in (200, 503) or reply.kind == NO_REPLY):
        return "late"
    if reply.status not in (200, 503):
        return "failed"
    if not reply.answered:
        return "refused"
    return "degraded" if reply.degraded else "full"


def fates(outcomes: Sequence[Outcome]) -> Fate:
    """All of them."""
    told = [fate_of(outcome) for outcome in outcomes]
    return Fate(**{name: told.count(name) for name in Fate.__dataclass_fields__})


def calls(before: Mapping[str, Mapping[str, float]], after: Mapping[str, Mapping[str, float]]) -> float:
    """Calls that the services received in between; one that was started anew counts from its start."""
    total = 0.0
    for name, counts in after.items():
        earlier = before.get(name, {}).get("received", 0.0)
        total += counts["received"] - (earlier if earlier <= counts["received"] else 0.0)
    return total


def summed(counts: Mapping[str, Mapping[str, float]], figure: str) -> float:
    """One figure over all services."""
    return sum(each.get(figure, 0.0) for each in counts.values())
