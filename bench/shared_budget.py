"""Benchmark 10: several gateways before one node: what it answers, and whether it gets more than it takes."""

import asyncio
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from bench.arrivals import Outcome, poisson
from bench.benchmark import Bench, Benchmark
from bench.figures import Table, number, percentile, share
from bench.fleet import Fleet
from bench.generator import Load
from bench.offered_load import capacity_of
from bench.on_fleet import DEADLINE_MS, STREAM_INTERVAL, Fate, Platform, fates, gateway_before, mixed
from bench.ports import free_ports
from bench.report import About
from capacity.standins import Calibration

GATEWAYS = 3
TIMES = 5.0
KEPT = 0.95
_SEQUENCES = 8
_SEED = 7
_ONE, _ALONE, _SHARED = "one gateway", "three, each alone", "three, one budget"

ABOUT = About(
    "shared-budget",
    "10. One budget for three gateways",
    "Five times the capacity of one node, as in 3, reaches it through one gateway, through three of which"
    " each counts for itself, and through three that lease from a Redis what they have at once; each before"
    " a node of its own, one after the other. Goodput: answers a second in time, full or degraded, once the"
    " queues had filled. At once: the most calls that the stand-in of the model had at any time, of the"
    f" {_SEQUENCES} that it takes.",
    "three with one budget: at least 95 % of one gateway's goodput, never more calls at once than it takes.",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One way to put gateways before the node. `by_gateway`: questions that each answered in time."""

    fate: Fate
    goodput: float
    full_goodput: float
    p99_ms: float
    at_once: float
    by_gateway: tuple[int, ...]


async def run(bench: Bench) -> Sequence[Table]:
    """One after the other: they would take each other's processors."""
    ways = {_ONE: (1, False), _ALONE: (GATEWAYS, False), _SHARED: (GATEWAYS, True)}
    measured, rate = dict[str, Measured](), 0.0
    for place, (name, (gateways, shared)) in enumerate(ways.items()):
        with _before_one_node(gateways, shared) as platforms:
            if not rate:
                bench.progress(0.0, "capacity")
                rate = TIMES * await capacity_of(bench, platforms[0])
            bench.progress((place + 1) / (len(ways) + 1), f"{name}, {rate:.1f}/s")
            measured[name] = await _sent(bench, platforms, rate)
    return [_table(measured, rate)]


@contextmanager
def _before_one_node(gateways: int, shared: bool) -> Iterator[list[Platform]]:
    node = replace(Calibration.l40s(), stream_interval=STREAM_INTERVAL)
    with ExitStack() as stack:
        settings = {"vlm_sequences": str(_SEQUENCES), "max_in_flight": str(_SEQUENCES)}
        if shared:
            settings |= {"shared_budget": "node", "gateways": str(gateways)}
            settings |= {"redis_url": stack.enter_context(_redis())}
        fleet = stack.enter_context(Fleet(node, 1))
        yield [stack.enter_context(gateway_before(fleet, settings=settings)) for _ in range(gateways)]


@contextmanager
def _redis() -> Iterator[str]:
    program = shutil.which("redis-server")
    if program is None:
        raise RuntimeError("This needs redis-server.")
    [port] = free_ports(1)
    with tempfile.TemporaryDirectory() as folder:
        options = ["--bind", "127.0.0.1", "--port", str(port), "--dir", folder, "--save", ""]
        with subprocess.Popen([program, *options], stdout=subprocess.DEVNULL) as process:
            try:
                yield f"redis://127.0.0.1:{port}/0"
            finally:
                process.terminate()


async def _sent(bench: Bench, platforms: Sequence[Platform], rate: float) -> Measured:
    seconds, part = bench.seconds(30, least=10), rate / len(platforms)
    loads = []
    for place, platform in enumerate(platforms):
        offsets = tuple(poisson(part, seconds, _SEED + place))
        bodies, order = mixed(len(offsets), _SEED + place)
        loads.append(Load(platform.url, bodies, order, offsets, give_up_s=1.5 * DEADLINE_MS / 1000))
    by_gateway = await asyncio.gather(*(bench.generator.fire(load) for load in loads))
    outcomes = [outcome for each in by_gateway for outcome in each]
    window_s = 2 * seconds / 3
    ended = fates([each for each in outcomes if seconds - window_s <= each.due_s + each.ms / 1000 < seconds])
    accepted = [each.ms for each in outcomes if not _turned_away(each)]
    return Measured(
        fates(outcomes),
        ended.answered / window_s,
        ended.full / window_s,
        percentile(accepted, 0.99),
        platforms[0].fleet.counts()["vlm"]["most_in_flight"],
        tuple(fates(each).answered for each in by_gateway),
    )


def _turned_away(outcome: Outcome) -> bool:
    return outcome.reply.status == 503 or outcome.reply.kind == "overloaded"


def _table(measured: dict[str, Measured], rate: float) -> Table:
    headers = (
        "gateways",
        "goodput/s",
        "of it full",
        "accepted p99 ms",
        "at once",
        "refused",
        "late",
        "of each",
    )
    rows = tuple(
        (
            name,
            number(found.goodput, 2),
            number(found.full_goodput, 2),
            number(found.p99_ms, 0),
            number(found.at_once, 0),
            share(found.fate.refused, found.fate.all),
            share(found.fate.late, found.fate.all),
            " ".join(map(str, found.by_gateway)),
        )
        for name, found in measured.items()
    )
    return Table(headers, rows, _finding(measured), (f"Offered: {number(rate, 1)} questions a second.",))


def _finding(measured: dict[str, Measured]) -> str:
    one, alone, shared = (measured[name] for name in (_ONE, _ALONE, _SHARED))
    kept = shared.goodput / one.goodput if one.goodput else 0.0
    met = kept >= KEPT and shared.at_once <= _SEQUENCES
    return (
        f"Three with one budget answer {share(kept, 1)} of what one gateway does, with"
        f" {shared.at_once:g} calls at once at most; each alone"
        f" {share(alone.goodput, max(one.goodput, 1e-9))} with {alone.at_once:g}."
        f" The goal is {'met' if met else 'missed'}."
    )


BENCHMARK = Benchmark(ABOUT, run)
