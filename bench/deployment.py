"""A gateway in front of a node, the questions that it is asked, and how they ended."""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench.arrivals import Outcome
from bench.generator import NO_REPLY, Body
from bench.node.launch import Node
from bench.node.scene import QUESTIONS
from bench.photo import multipart, photo
from bench.processes import Running, running, until_ready
from contracts.answer import Route

DEADLINE_MS = 10_000
MIX: Mapping[Route, float] = {Route.DIRECT: 0.3, Route.VERIFY: 0.2, Route.RAG: 0.5}
"""Shares of the questions."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A gateway and the node behind it."""

    node: Node
    gateway: Running

    @property
    def url(self) -> str:
        """Return the address that questions are sent to."""
        return f"{self.gateway.url}/answer"


@contextmanager
def deployment(
    *arguments: str, apart: Collection[str] = (), settings: Mapping[str, str] | None = None
) -> Iterator[Deployment]:
    """Run a node at an L40S's pace and a gateway with `settings` and `arguments` of `bench.gateway`."""
    with Node("l40s", apart) as node:
        given = {
            **node.gateway_environment,
            "LOREGLASS_GATEWAY_LATENCIES": "l40s",
            "LOREGLASS_GATEWAY_PHOTO_TO_DOMAIN_ROUTER": "true",
            "LOREGLASS_GATEWAY_PHOTO_TO_RERANKER": "true",
            "LOREGLASS_GATEWAY_LOG_LEVEL": "warning",
            **{f"LOREGLASS_GATEWAY_{name.upper()}": value for name, value in (settings or {}).items()},
        }
        with running("bench.gateway", *arguments, settings=given) as gateway:
            until_ready(gateway.url)
            yield Deployment(node, gateway)


def question(route: Route, deadline_ms: int = DEADLINE_MS) -> Body:
    """Return the question that takes `route`, with a photo of 640 x 480."""
    return multipart({"question": QUESTIONS[route], "deadline_ms": str(deadline_ms)}, photo(640, 480))


def mixed(count: int, seed: int) -> tuple[tuple[Body, ...], tuple[int, ...]]:
    """Return one body a route, and which of them each of `count` requests sends."""
    order = random.Random(seed).choices(range(len(MIX)), list(MIX.values()), k=max(1, count))
    return tuple(question(route) for route in MIX), tuple(order)


@dataclass(frozen=True, slots=True)
class Fate:
    """How many requests ended in which way. In time: within the deadline."""

    full: int = 0
    degraded: int = 0
    refused: int = 0
    late: int = 0
    failed: int = 0

    @property
    def all(self) -> int:
        """Return the number of requests."""
        return self.full + self.degraded + self.refused + self.late + self.failed

    @property
    def answered(self) -> int:
        """Return those that were answered in time."""
        return self.full + self.degraded

    @property
    def honest(self) -> int:
        """Return those that were answered or refused in time."""
        return self.answered + self.refused


def fate_of(outcome: Outcome, deadline_ms: float = DEADLINE_MS) -> str:
    """Return the field of `Fate` that a request belongs to."""
    reply = outcome.reply
    if outcome.ms > deadline_ms and (reply.status in (200, 503) or reply.kind == NO_REPLY):
        return "late"
    if reply.status not in (200, 503):
        return "failed"
    if not reply.answered:
        return "refused"
    return "degraded" if reply.degraded else "full"


def fates(outcomes: Sequence[Outcome]) -> Fate:
    """Count all requests."""
    found = [fate_of(outcome) for outcome in outcomes]
    return Fate(**{name: found.count(name) for name in Fate.__dataclass_fields__})


def calls(before: Mapping[str, int], after: Mapping[str, int]) -> int:
    """Return the requests that services received in between; a restarted service counts from its start."""
    earlier = {name: before.get(name, 0) for name in after}
    return sum(count - (earlier[name] if earlier[name] <= count else 0) for name, count in after.items())
