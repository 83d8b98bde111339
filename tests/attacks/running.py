"""Runs a class against a target, and what became of it."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from tests.attacks.canary import Canary, Waits
from tests.attacks.inputs import AttackClass, Input, Scene
from tests.attacks.judging import Judge
from tests.attacks.sending import Reply, send
from tests.attacks.target import Target, settle

LATE_S = 1.0
SLACK_MIB = 256.0
_HONEST = (503, 504)
"""Too busy, or out of time: said in time, and not a fault of ours that the input caused by being wrong."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An input whose reply is not right, and why."""

    given: Input
    why: str
    status: int
    seconds: float


@dataclass
class Result:
    """Of a class. `late`: refusals later than a second; those that were late alone too are failures."""

    name: str
    inputs: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    silent: int = 0
    late: int = 0
    leaks: int = 0
    before_mib: float = 0.0
    peak_mib: float = 0.0
    after_mib: float = 0.0
    descriptors: tuple[int, int, int] = (0, 0, 0)
    services_mib: float = 0.0
    seconds: float = 0.0
    waits: Waits = field(default_factory=Waits)
    failures: list[Failure] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def of(self, hundred: int) -> int:
        """Replies with such a status: 2 is 2xx."""
        return sum(count for status, count in self.statuses.items() if status // 100 == hundred)

    @property
    def holds(self) -> bool:
        """Nothing is wrong."""
        return not self.failures and not self.faults


class Progress(Protocol):
    """Where a run tells how far it is."""

    def __call__(self, *, completed: int) -> None:
        """So many inputs."""
        ...


def _untold(*, completed: int) -> None:
    """To nobody."""


@dataclass(frozen=True, slots=True)
class Sending:
    """How many inputs, drawn from which seed, over how many connections at once."""

    count: int
    seed: int
    at_once: int = 6


def run_class(
    each: AttackClass, target: Target, scene: Scene, sending: Sending, progress: Progress
) -> Result:
    """All inputs of the class, beside a good caller; then what the gateway keeps of it."""
    result = Result(each.name)
    result.before_mib, before = target.mib(), target.descriptors()
    for seen in target.watch.seen.values():
        seen.reset()
    began = time.monotonic()
    with Canary(target) as waits:
        inputs = each.inputs(sending.count, sending.seed, scene)
        late = asyncio.run(send_all(inputs, target, result, sending.at_once, progress))
    result.waits, result.seconds = waits, time.monotonic() - began
    asyncio.run(_again_alone(late, target, result))
    dead = target.revive()
    result.faults += [f"{name} died" for name in dead]
    result.after_mib = settle(target, result.before_mib, SLACK_MIB)
    gateway = target.watch.of("gateway")
    result.peak_mib = gateway.peak_mib
    result.descriptors = (before, gateway.peak_descriptors, target.descriptors())
    result.services_mib = max(
        (seen.peak_mib for name, seen in target.watch.seen.items() if name != "gateway"), default=0
    )
    if result.after_mib > result.before_mib + SLACK_MIB:
        result.faults.append(f"memory stays at {result.after_mib:.0f} MiB of {result.before_mib:.0f} before")
    return result


async def send_all(
    inputs: Iterator[Input], target: Target, result: Result, at_once: int, progress: Progress = _untold
) -> list[Input]:
    """Count into `result` what comes back; those whose refusal came late."""
    judge, late = Judge(target.planted.secrets(target.folder)), list[Input]()

    async def sender() -> None:
        for given in inputs:
            reply = await send(given, target.ports[given.to])
            result.inputs += 1
            _note(given, reply, judge, result, late)
            progress(completed=result.inputs)
            if not reply.status and target.revive():
                result.failures.append(Failure(given, "a process died", 0, reply.seconds))

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(sender())
    return late


def _note(given: Input, reply: Reply, judge: Judge, result: Result, late: list[Input]) -> None:
    if not reply.status:
        result.silent += 1
        if not given.silence:
            result.failures.append(Failure(given, "no answer", 0, reply.seconds))
        return
    result.statuses[reply.status] += 1
    if reply.status >= 500 and reply.status not in _HONEST:
        result.failures.append(Failure(given, f"status {reply.status}", reply.status, reply.seconds))
    for what in judge.leaks(given, reply):
        result.leaks += 1
        result.failures.append(Failure(given, f"tells {what}", reply.status, reply.seconds))
    if 400 <= reply.status < 500 and reply.seconds > LATE_S:
        result.late += 1
        late.append(given)


async def _again_alone(late: list[Input], target: Target, result: Result) -> None:
    """A refusal that was late beside others may have waited for them: by itself it must not be."""
    for given in late[:50]:
        reply = await send(given, target.ports[given.to])
        if 400 <= reply.status < 500 and reply.seconds > LATE_S:
            result.failures.append(Failure(given, "refused late, alone too", reply.status, reply.seconds))
