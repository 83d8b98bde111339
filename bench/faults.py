"""Each service is killed, started again, stopped for a while, and continued, under load."""

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.arrivals import Outcome, poisson
from bench.benchmark import Bench, Benchmark
from bench.deployment import DEADLINE_MS, FATES, Deployment, calls, deployment, fates, mixed, shares
from bench.figures import Table, number, share
from bench.generator import Load
from bench.node.pace import SERVICES, VLM
from bench.replies import Fate, Reply, fate_of
from bench.report import About

ABOUT = About(
    "faults",
    "Services killed and stopped under load",
    "Under Poisson arrivals of mixed questions at about half of the capacity, each service in turn gets"
    " SIGKILL and is started again on the same port, then SIGSTOP for 20 s and SIGCONT. Counted are the"
    " requests that were due while it was away. Time to full answers: from its return until no further"
    " request got less than a full answer. Calls: those that reached any service from the fault until the"
    " next one, beside those at a healthy node under the same arrivals.",
    "at least 99 % answered or honestly refused in time, full answers within 5 s of the return, at most 1.2"
    " times the calls.",
)
_RATE = 0.8
_SEED = 13
_AT_ONCE = 5
Step = Callable[[str], None]
HONEST, RECOVERY_S, AMPLIFICATION = 0.99, 5.0, 1.2


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds after the start."""

    kill: float = 8.0
    restart: float = 18.0
    stop: float = 28.0
    resume: float = 48.0
    end: float = 60.0

    def scaled(self, pace: float) -> "Times":
        """For a glance."""
        return Times(*(at * pace for at in (self.kill, self.restart, self.stop, self.resume, self.end)))


@dataclass(frozen=True, slots=True)
class Passed:
    """What happened at one node: `calls` to its services from each fault until the next."""

    outcomes: Sequence[Outcome]
    calls: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Fault:
    """One service away, and what became of the requests that were due meanwhile.

    `back`: seconds after the start when it returned; `short`: the last request after that, before the next
    fault, without a full answer. `calls` from the fault until the next one, and
    at a healthy node in the same seconds.
    """

    service: str
    what: str
    outcomes: Sequence[Outcome]
    short: Outcome | None
    back: float
    calls: int
    healthy_calls: int

    @property
    def to_full_s(self) -> float:
        """Seconds after the return at which the last request was due that got less than a full answer."""
        return self.short.due_s - self.back if self.short else 0.0

    @property
    def amplification(self) -> float:
        """How many times the calls."""
        return self.calls / self.healthy_calls if self.healthy_calls else 0.0


async def run(bench: Bench) -> Sequence[Table]:
    """Some services at a time, each on a node of its own, and one node that stays healthy."""
    times = Times().scaled(0.35 if bench.pace < 1 else 1.0)
    services = (*SERVICES, VLM) if bench.pace == 1 else ("reranker", VLM)
    waiting: list[str | None] = [None, *services]
    passed: dict[str | None, Passed] = {}
    opening = asyncio.Lock()  # processes that start together slow each other down

    async def worker() -> None:
        while waiting:
            service = waiting.pop(0)
            bench.progress(len(passed) / (len(services) + 1), service or "healthy")
            passed[service] = await _passed(bench, service, times, opening)

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(worker())
    return [_table([fault for service in services for fault in _faults(service, passed, times)])]


async def _passed(bench: Bench, service: str | None, times: Times, opening: asyncio.Lock) -> Passed:
    opened = deployment(apart=(service,) if service else ())
    async with opening:
        deployed = await asyncio.to_thread(opened.__enter__)
    try:
        return await _under_load(bench, deployed, service, times)
    finally:
        await asyncio.to_thread(opened.__exit__, None, None, None)


async def _under_load(bench: Bench, deployed: Deployment, service: str | None, times: Times) -> Passed:
    """The load, and both faults while it runs."""
    offsets = tuple(poisson(_RATE, times.end, _SEED))
    bodies, order = mixed(len(offsets), _SEED)
    load = asyncio.create_task(bench.generator.fire(Load(deployed.url, bodies, order, offsets)))
    began, counted, node = asyncio.get_running_loop().time(), list[int](), deployed.node
    steps: tuple[tuple[float, Step], ...] = (
        (times.kill, node.kill),
        (times.restart, node.restart),
        (times.stop, node.stop),
        (times.resume, node.resume),
    )
    counts = await asyncio.to_thread(node.received)
    for at, step in steps:
        await asyncio.sleep(max(0.0, began + at - asyncio.get_running_loop().time()))
        before, counts = counts, await asyncio.to_thread(node.received)
        counted.append(calls(before, counts))
        if service:
            await asyncio.to_thread(step, service)
            earlier = counts if at >= times.stop else {}  # a new process counts from 0, a stopped one goes on
            counts = {**earlier, **await asyncio.to_thread(node.received)}
    outcomes = await load
    last = calls(counts, await asyncio.to_thread(node.received))
    _, away, back, stopped = counted
    return Passed(outcomes, (away + back, stopped + last))


def _faults(service: str, passed: Mapping[str | None, Passed], times: Times) -> Iterator[Fault]:
    at, healthy = passed[service], passed[None]
    windows = (
        ("killed", times.kill, times.restart, times.stop),
        ("stopped", times.stop, times.resume, math.inf),
    )
    for place, (what, since, until, following) in enumerate(windows):
        during = [each for each in at.outcomes if since <= each.due_s < until]
        short = _short(at.outcomes, until, following)
        yield Fault(service, what, during, short, until, at.calls[place], healthy.calls[place])


def _short(outcomes: Sequence[Outcome], back: float, until: float) -> Outcome | None:
    """The last request, due from `back` on and over before `until`, that did not get a full answer."""
    between = [each for each in outcomes if back <= each.due_s and each.due_s + each.ms / 1000 < until]
    short = [each for each in between if fate_of(each.reply, each.ms, DEADLINE_MS) is not Fate.FULL]
    return short[-1] if short else None


def _describe(fault: Fault) -> str:
    reply = fault.short.reply if fault.short else Reply(0)
    what = ", ".join(reply.degraded) or reply.kind
    return f"{fault.service} {fault.what}: {number(fault.to_full_s)} s after its return still short: {what}."


def _table(faults: Sequence[Fault]) -> Table:
    rows = [
        (
            f"{fault.service} {fault.what}",
            str(len(fault.outcomes)),
            *shares(fates(fault.outcomes)),
            number(fault.to_full_s),
            number(fault.calls, 0),
            number(fault.amplification, 2),
        )
        for fault in faults
    ]
    headers = ("service", "requests", *FATES, "to full answers s", "calls", "times those of a healthy node")
    notes = tuple(_describe(fault) for fault in faults if fault.to_full_s > RECOVERY_S)
    return Table(headers, tuple(rows), _finding(faults), notes)


def _finding(faults: Sequence[Fault]) -> str:
    ends = fates([outcome for fault in faults for outcome in fault.outcomes])
    honest = 1 - (ends[Fate.LATE] + ends[Fate.FAILED]) / max(1, ends.total())
    slowest = max((fault.to_full_s for fault in faults), default=0.0)
    most = max((fault.amplification for fault in faults), default=0.0)
    met = honest >= HONEST and slowest <= RECOVERY_S and most <= AMPLIFICATION
    return (
        f"{share(honest, 1)} answered or honestly refused in time; full answers {number(slowest)} s after the"
        f" return at most; {number(most, 2)} times the calls at most. The goal is"
        f" {'met' if met else 'missed'}."
    )


BENCHMARK = Benchmark(ABOUT, run)
