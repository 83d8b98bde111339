"""Benchmark: answers a second beyond the platform's capacity."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bench.benchmark import About, Bench, Benchmark, Table, number, percentile, share
from bench.generator import Body, Fate, Load, Outcome, fate_of, multipart, photo, poisson
from bench.node.app import MODEL
from bench.node.pace import SERVICES, VLM
from bench.node.scene import QUESTIONS
from bench.processes import NODE, PYTHON, Running, cpu_seconds, serving
from contracts.answer import Route

ABOUT = About(
    "offered-load",
    "Offered load from half to five times the capacity",
    "The same Poisson arrivals of mixed questions (30 % direct, 20 % verify, 50 % rag), each with a deadline"
    " of 10 s, reach three gateways before three like nodes: ours; ours with admission and waiting limits so"
    " high that nothing is refused; and that one behind a plain semaphore. Capacity is what eight callers"
    " get who each wait for their answer. Goodput: answers a second in time, full or degraded, that came once"
    " the queues had filled; the shares are of all requests. Callers give up after 15 s.",
    "ours: goodput at 5 times at least 95 % of its peak, p99 of what was accepted within the deadline.",
)
LOADS = (0.5, 1.0, 2.0, 3.0, 5.0)
_SEED = 7
_UNLIMITED = {"max_in_flight": "100000", "max_waiting": "100000"}
_CALLERS = 8
OURS = "ours"
KEPT = 0.95
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


@dataclass(frozen=True, slots=True)
class Measured:
    fates: Counter[Fate]
    goodput: float
    full_goodput: float
    accepted_p99_ms: float
    cpu_share: float


async def run(bench: Bench) -> Sequence[Table]:
    """Measure all three side by side at each load, so that conditions are equal."""
    with ExitStack() as stack:
        gateways = {
            OURS: stack.enter_context(deployment()),
            "without admission": stack.enter_context(deployment(settings=_UNLIMITED)),
            "a plain semaphore": stack.enter_context(
                deployment(f"--semaphore={_CALLERS}", settings=_UNLIMITED)
            ),
        }
        bench.progress(0.0, "capacity")
        capacity = await capacity_of(bench, gateways[OURS])
        measured: dict[tuple[float, str], Measured] = {}
        for place, load in enumerate(LOADS):
            bench.progress((place + 1) / (len(LOADS) + 1), f"{load} times {capacity:.2f}/s")
            rate, seconds = load * capacity, bench.seconds(21, least=8)
            runs = [_measure(bench, each, rate, seconds) for each in gateways.values()]
            for name, result in zip(gateways, await asyncio.gather(*runs), strict=True):
                measured[load, name] = result
    return [_table(measured, capacity)]


async def capacity_of(bench: Bench, gateway: Running) -> float:
    """Return the requests a second of clients that each wait for their answer."""
    count = bench.count(40, least=16)
    bodies, order = mixed(count, _SEED)
    outcomes = await bench.generator.fire(
        Load(f"{gateway.url}/answer", bodies, order, concurrency=_CALLERS, count=count)
    )
    last_s = max(each.due_s + each.ms / 1000 for each in outcomes)
    return _answered(fates(outcomes)) / last_s


async def _measure(bench: Bench, gateway: Running, rate: float, seconds: float) -> Measured:
    offsets = tuple(poisson(rate, seconds, _SEED))
    bodies, order = mixed(len(offsets), _SEED)
    before = cpu_seconds(gateway.pid)
    give_up_s = 1.5 * DEADLINE_MS / 1000
    load = Load(f"{gateway.url}/answer", bodies, order, offsets, give_up_s=give_up_s)
    outcomes = await bench.generator.fire(load)
    spent = cpu_seconds(gateway.pid) - before
    last_s = max(each.due_s + each.ms / 1000 for each in outcomes)
    accepted = [each.ms for each in outcomes if not _turned_away(each)]
    window_s = 2 * seconds / 3
    ended = fates([each for each in outcomes if seconds - window_s <= each.due_s + each.ms / 1000 < seconds])
    p99 = percentile(accepted, 0.99)
    goodput, full_goodput = _answered(ended) / window_s, ended[Fate.FULL] / window_s
    return Measured(fates(outcomes), goodput, full_goodput, p99, spent / last_s)


def _answered(fates: Counter[Fate]) -> int:
    return fates[Fate.FULL] + fates[Fate.DEGRADED]


def _turned_away(outcome: Outcome) -> bool:
    return outcome.reply.status == 503 or outcome.reply.kind == "overloaded"


def _table(measured: Mapping[tuple[float, str], Measured], capacity: float) -> Table:
    rows = []
    for (load, name), result in measured.items():
        goodputs = (number(result.goodput, 2), number(result.full_goodput, 2))
        figures = (*goodputs, number(result.accepted_p99_ms, 0))
        rows.append((f"{load:g} times, {name}", *figures, *shares(result.fates)))
    headers = ("load", "goodput/s", "of it full", "accepted p99 ms", *FATES)
    busiest = max(result.cpu_share for result in measured.values())
    notes = (
        f"Capacity: {number(capacity, 2)} requests a second.",
        f"Of one core the busiest gateway took {share(busiest, 1)}.",
    )
    return Table(headers, tuple(rows), _finding(measured), notes)


def _finding(measured: Mapping[tuple[float, str], Measured]) -> str:
    ours = {load: result for (load, name), result in measured.items() if name == OURS}
    peak = max(result.goodput for result in ours.values())
    part = ours[LOADS[-1]].goodput / peak if peak else 0.0
    worst_ms = max(result.accepted_p99_ms for result in ours.values())
    met = part >= KEPT and worst_ms <= DEADLINE_MS
    return (
        f"Ours keeps {share(part, 1)} of its peak goodput at {LOADS[-1]:g} times, with an accepted p99 of"
        f" {number(worst_ms, 0)} ms at most. The goal is {'met' if met else 'missed'}."
    )


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
    """Return one body a route, and the body of each of `count` requests."""
    order = random.Random(seed).choices(range(len(MIX)), list(MIX.values()), k=max(1, count))
    return tuple(question(route) for route in MIX), tuple(order)


def fates(outcomes: Sequence[Outcome]) -> Counter[Fate]:
    """Count how all requests ended."""
    return Counter(fate_of(each.reply, each.ms, DEADLINE_MS) for each in outcomes)


def shares(fates: Counter[Fate]) -> tuple[str, ...]:
    """Return the cells under `FATES`: shares of all requests."""
    return tuple(share(sum(fates[each] for each in group), fates.total()) for group in FATES.values())


BENCHMARK = Benchmark(ABOUT, run)
