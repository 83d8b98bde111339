"""One attack in full size: what it does, and what it came to."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field

import httpx

from tests.attacks.canary import Canary, Waits
from tests.attacks.inputs import Input
from tests.attacks.running import SLACK_MIB
from tests.attacks.sending import Reply, send
from tests.attacks.target import Target, ask_well, settle

OTHERS_WAIT_S = 9.0
"""A good caller's own deadline of 8 s, and a second."""
_READY_S = 3.0
_ANSWERED = 0.5
_BEFORE_S, _AFTER_S = 2.0, 4.0


@dataclass
class Course:
    """What an attack notes while it runs. `held_s`: the longest that the attacker itself was served."""

    target: Target
    statuses: Counter[str] = field(default_factory=Counter)
    held_s: float = 0.0
    notes: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    async def send(self, given: Input, give_up_s: float = 130.0) -> Reply:
        """One of the attack's requests."""
        reply = await send(given, self.target.ports[given.to], give_up_s)
        self.count(reply.status, reply.seconds)
        return reply

    def count(self, status: int, seconds: float = 0.0) -> None:
        """A reply, or none."""
        self.statuses[str(status) if status else "none"] += 1
        self.held_s = max(self.held_s, seconds)


@contextmanager
def _begun_anew(target: Target) -> Iterator[None]:
    """What the attack before has left at work is not this one's."""
    target.restart_gateway()
    yield


@dataclass(frozen=True, slots=True)
class Killer:
    """`sent`: in a few words. `place`: a gateway that begins anew, with other settings where they matter."""

    name: str
    sent: str
    attack: Callable[[Course], Awaitable[None]]
    place: Callable[[Target], AbstractContextManager[object]] = _begun_anew


@dataclass
class Outcome:
    """Of a killer. `file_mib`: on disk, in files without a name."""

    killer: Killer
    course: Course
    waits: Waits
    died: list[str]
    before_mib: float
    peak_mib: float
    after_mib: float
    file_mib: float
    descriptors: int

    def faults(self) -> list[str]:
        """What does not hold."""
        found = [f"{name} died" for name in self.died] + self.course.wrong
        if self.waits.slowest > OTHERS_WAIT_S:
            found.append(f"others waited {self.waits.slowest:.1f} s")
        if self.waits.slowest_ready > _READY_S:
            found.append(f"readiness took {self.waits.slowest_ready:.1f} s")
        short = [each for each in self.waits.statuses if not each.startswith("ready")]
        if len(short) > _ANSWERED * len(self.waits.asked):
            found.append(f"{len(short)} of {len(self.waits.asked)} others got no answer")
        unheard = [each for each in self.waits.statuses if each.endswith("no answer")]
        if unheard and not self.died:
            found.append(f"{len(unheard)} others were not heard at all")
        if not self.died and self.after_mib > self.before_mib + SLACK_MIB:
            found.append(f"memory stays at {self.after_mib:.0f} MiB of {self.before_mib:.0f}")
        if self.course.statuses["500"]:
            found.append("status 500")
        return found


def warmed_mib(target: Target) -> float:
    """What the gateway takes once it has answered."""
    with httpx.Client(timeout=60) as client:
        for _ in range(2):
            with suppress(httpx.HTTPError):
                ask_well(target, client, 30_000)
    return target.mib()


def run_killer(killer: Killer, target: Target) -> Outcome:
    """Beside a good caller; a target that dies is started again, and said to have died."""
    with killer.place(target):
        before = warmed_mib(target)
        target.watch.of("gateway").reset()
        course = Course(target)
        with Canary(target) as waits:
            time.sleep(_BEFORE_S)
            asyncio.run(_bounded(killer, course))
            dead = target.revive()
            time.sleep(_AFTER_S)
        dead += target.revive()
        after = settle(target, before, SLACK_MIB)
        seen = target.watch.of("gateway")
        outcome = Outcome(
            killer,
            course,
            waits,
            dead,
            before,
            seen.peak_mib,
            after,
            seen.peak_file_mib,
            seen.peak_descriptors,
        )
    return outcome


async def _bounded(killer: Killer, course: Course) -> None:
    try:
        async with asyncio.timeout(200):
            await killer.attack(course)
    except TimeoutError:
        course.wrong.append("was still going on after 200 s")
