"""Benchmark: answers a second beyond the platform's capacity."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench.arrivals import Outcome, poisson
from bench.benchmark import Bench, Benchmark
from bench.deployment import DEADLINE_MS, FATES, deployment, fates, mixed, shares
from bench.figures import Table, number, percentile, share
from bench.generator import Load
from bench.processes import Running, cpu_seconds
from bench.replies import Fate
from bench.report import About

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


@dataclass(frozen=True, slots=True)
class Measured:
    """One gateway at one load."""

    fates: Counter[Fate]
    goodput: float
    full_goodput: float
    accepted_p99_ms: float
    cpu_share: float


async def run(bench: Bench) -> Sequence[Table]:
    """All three side by side at each load, so that they see the same machine."""
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
    """Requests a second that callers get who each wait for their answer."""
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


BENCHMARK = Benchmark(ABOUT, run)
