"""A gateway in front of a node, the questions that it is asked, and how they ended."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from bench.arrivals import Outcome
from bench.figures import share
from bench.generator import Body
from bench.node.app import MODEL
from bench.node.pace import SERVICES, VLM
from bench.node.scene import QUESTIONS
from bench.photo import multipart, photo
from bench.processes import NODE, PYTHON, Running, serving
from bench.replies import Fate, fate_of
from contracts.answer import Route

DEADLINE_MS = 10_000
MIX: Mapping[Route, float] = {Route.DIRECT: 0.3, Route.VERIFY: 0.2, Route.RAG: 0.5}
"""Shares of the questions."""
FATES: Mapping[str, tuple[Fate, ...]] = {
    "full": (Fate.FULL,),
    "degraded": (Fate.DEGRADED,),
    "refused": (Fate.REFUSED, Fate.TIMED_OUT, Fate.TURNED_AWAY),
    "late": (Fate.LATE,),
    "failed": (Fate.FAILED,),
}
"""The columns of a table."""


@contextmanager
def deployment(*arguments: str, settings: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Run a node at an L40S's pace and a gateway with `settings` and `arguments` of `bench.gateway`."""
    with serving(*NODE, "--pace=l40s") as node:
        variables = {
            **{f"{name}_url": node.url for name in (*SERVICES, VLM)},
            "reasoning": "vlm",
            "vlm_model": MODEL,
            "port": "{port}",
            "latencies": "l40s",
            "photo_to_domain_router": "true",
            "photo_to_reranker": "true",
            "log_level": "warning",
            **(settings or {}),
        }
        environment = {f"LOREGLASS_GATEWAY_{name.upper()}": value for name, value in variables.items()}
        with serving(*PYTHON, "bench.gateway", *arguments, settings=environment) as gateway:
            yield gateway


def question(route: Route) -> Body:
    """Return the question that takes `route`, with a photo of 640 x 480."""
    return multipart({"question": QUESTIONS[route], "deadline_ms": str(DEADLINE_MS)}, photo(640, 480))


def mixed(count: int, seed: int) -> tuple[tuple[Body, ...], tuple[int, ...]]:
    """Return one body a route, and which of them each of `count` requests sends."""
    order = random.Random(seed).choices(range(len(MIX)), list(MIX.values()), k=max(1, count))
    return tuple(question(route) for route in MIX), tuple(order)


def fates(outcomes: Sequence[Outcome]) -> Counter[Fate]:
    """Count how all requests ended."""
    return Counter(fate_of(each.reply, each.ms, DEADLINE_MS) for each in outcomes)


def shares(fates: Counter[Fate]) -> tuple[str, ...]:
    """Return the cells under `FATES`: shares of all requests."""
    return tuple(share(sum(fates[each] for each in group), fates.total()) for group in FATES.values())
