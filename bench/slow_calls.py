"""Benchmark 4: one call in ten takes five times as long."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from bench.arrivals import Outcome, poisson
from bench.benchmark import Bench, Benchmark
from bench.figures import Table, number, percentile, share
from bench.fleet import Mode
from bench.generator import Load
from bench.on_fleet import STREAM_INTERVAL, Fate, Platform, fates, mixed, platform, summed
from bench.report import About
from capacity.standins import SERVICES, Calibration

ABOUT = About(
    "slow-calls",
    "4. One call in ten five times slower",
    "Two like nodes under the same Poisson arrivals of mixed questions, at about half of their capacity; at"
    " one of them each service and the model take five times as long for a tenth of their calls. Work after"
    " its deadline is what a service finished although the milliseconds that it was sent were over.",
    "none was set: deadline misses and late work are to be few.",
)
FACTOR, SHARE = 5.0, 0.1
_RATE = 0.7
_SEED = 11


@dataclass(frozen=True, slots=True)
class Measured:
    """One node."""

    outcomes: Sequence[Outcome]
    fate: Fate
    late_work: float
    finished: float
    wasted: float


async def run(bench: Bench) -> Sequence[Table]:
    """Both at the same time."""
    node = replace(Calibration.l40s(), stream_interval=STREAM_INTERVAL)
    with ExitStack() as stack:
        nodes = {
            name: stack.enter_context(platform(calibration=node)) for name in ("all as usual", "a tenth slow")
        }
        for service in SERVICES:
            slow = nodes["a tenth slow"].fleet
            await asyncio.to_thread(slow.switch, service, Mode.SLOW, factor=FACTOR, share=SHARE)
        bench.progress(0.1, "sending")
        found = await asyncio.gather(*(_measured(bench, each) for each in nodes.values()))
    return [_table(dict(zip(nodes, found, strict=True)))]


async def _measured(bench: Bench, node: Platform) -> Measured:
    offsets = tuple(poisson(_RATE, bench.seconds(45, least=8), _SEED))
    bodies, order = mixed(len(offsets), _SEED)
    before = await asyncio.to_thread(node.fleet.counts)
    outcomes = await bench.generator.fire(Load(node.url, bodies, order, offsets))
    after = await asyncio.to_thread(node.fleet.counts)

    def grown(figure: str) -> float:
        return summed(after, figure) - summed(before, figure)

    wasted = grown("wasted_ms") / max(1.0, grown("worked_ms"))
    return Measured(outcomes, fates(outcomes), grown("late"), grown("finished"), wasted)


def _table(measured: dict[str, Measured]) -> Table:
    rows = []
    for name, found in measured.items():
        ms, fate = [each.ms for each in found.outcomes], found.fate
        times = (number(percentile(ms, 0.5), 0), number(percentile(ms, 0.99), 0))
        missed = (
            sum(each.reply.kind in ("timed_out", "deadline_exceeded") for each in found.outcomes) + fate.late
        )
        parts = (fate.full, fate.degraded, fate.refused, missed, fate.failed)
        late = f"{number(found.late_work, 0)} of {number(found.finished, 0)}"
        rows.append((name, *times, *(share(part, fate.all) for part in parts), late, share(found.wasted, 1)))
    headers = (
        "calls",
        "p50 ms",
        "p99 ms",
        "full",
        "degraded",
        "refused",
        "of these out of time",
        "failed",
        "calls finished late",
        "GPU time for nobody",
    )
    return Table(headers, tuple(rows))


BENCHMARK = Benchmark(ABOUT, run)
