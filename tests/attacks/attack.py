"""Run one attack beside a good caller, and report what happened to the platform."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import httpx

from tests.attacks.judging import Judge
from tests.attacks.sending import Reply, request, send
from tests.attacks.target import Target, ask_well, settle

_EVERY_S = 1.0
_GIVE_UP_S = 75.0


@dataclass
class Waits:
    """Of the questions and of readiness: seconds each took, and the statuses other than 200."""

    durations_s: list[float] = field(default_factory=list)
    ready_s: list[float] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)


@contextmanager
def canary(target: Target) -> Iterator[Waits]:
    """Ask and look at readiness once a second until the context ends, each time on a connection of its own.

    A connection that is open already says nothing of who comes next.
    """
    waits, over = Waits(), threading.Event()

    def repeat(
        call: Callable[[httpx.Client], httpx.Response], seconds: list[float], prefix: str = ""
    ) -> None:
        limits = httpx.Limits(max_keepalive_connections=0)
        with httpx.Client(timeout=_GIVE_UP_S, limits=limits) as client:
            while True:
                began = time.monotonic()
                try:
                    status = str(call(client).status_code)
                except httpx.HTTPError:
                    status = "no answer"
                seconds.append(time.monotonic() - began)
                if status != "200":
                    waits.statuses.append(prefix + status)
                if over.wait(_EVERY_S):
                    return

    with ThreadPoolExecutor(2) as threads:
        threads.submit(repeat, lambda client: ask_well(target, client), waits.durations_s)
        ready = f"{target.gateway_url}/health/ready"
        threads.submit(repeat, lambda client: client.get(ready), waits.ready_s, "ready: ")
        try:
            yield waits
        finally:
            over.set()


_OTHERS_WAIT_S = 9.0
"""A good caller's own deadline of 8 s, and a second."""
_READY_S = 3.0
_ANSWERED = 0.5
_BEFORE_S, _AFTER_S = 2.0, 4.0
_SLACK_MIB = 256.0


@dataclass
class Course:
    """Results of a running attack. `held_s`: the longest time that one of its requests took.

    `late_s`: a refusal that takes longer, and again when it is sent again, does not hold.
    """

    target: Target
    late_s: float = 1.0
    statuses: Counter[str] = field(default_factory=Counter)
    held_s: float = 0.0
    notes: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @cached_property
    def judge(self) -> Judge:
        """Knows the secrets of the target."""
        return Judge(self.target.planted.secrets(self.target.folder))

    def post(self, path: str, headers: Mapping[str, str] | None = None, **body: Any) -> bytes:
        """Return a request of the attacker, who has a key. `body`: as httpx takes it (json, files, ...)."""
        key = {"Authorization": f"Bearer {self.target.planted.attacker.text}"}
        return request("POST", path, key | dict(headers or {}), **body)

    async def send(self, data: bytes, to: str = "gateway", give_up_s: float = 130.0) -> Reply:
        """Send one of the attack's requests, and count its reply."""
        reply = await send(data, self.target.ports[to], give_up_s)
        self.count(reply.status, reply.seconds)
        return reply

    def count(self, status: int, seconds: float = 0.0) -> None:
        """Count a reply; status 0: there was none."""
        self.statuses[str(status) if status else "none"] += 1
        self.held_s = max(self.held_s, seconds)


@contextmanager
def _begun_anew(target: Target) -> Iterator[None]:
    """Restart the gateway, which may still work on what the attack before has sent."""
    target.restart_gateway()
    yield


@dataclass(frozen=True, slots=True)
class Attack:
    """`sent`: in a few words. `place`: restarts the gateway, with other settings where they matter."""

    name: str
    sent: str
    send: Callable[[Course], Awaitable[None]]
    place: Callable[[Target], AbstractContextManager[object]] = _begun_anew
    most_s: float = 200.0


@dataclass
class Outcome:
    """The result of an attack. `file_mib`: on disk, in files without a name."""

    attack: Attack
    course: Course
    waits: Waits
    died: list[str]
    before_mib: float
    peak_mib: float
    after_mib: float
    file_mib: float

    def faults(self) -> list[str]:
        """Return what does not hold."""
        results = [f"{name} died" for name in self.died] + self.course.wrong
        for label, seconds, most_s in (
            ("others waited", self.waits.durations_s, _OTHERS_WAIT_S),
            ("readiness took", self.waits.ready_s, _READY_S),
        ):
            if max(seconds) > most_s:
                results.append(f"{label} {max(seconds):.1f} s")
        short = [each for each in self.waits.statuses if not each.startswith("ready")]
        if len(short) > _ANSWERED * len(self.waits.durations_s):
            results.append(f"{len(short)} of {len(self.waits.durations_s)} others got no answer")
        unheard = [each for each in self.waits.statuses if each.endswith("no answer")]
        if unheard and not self.died:
            results.append(f"{len(unheard)} others were not heard at all")
        if not self.died and self.after_mib > self.before_mib + _SLACK_MIB:
            results.append(f"memory stays at {self.after_mib:.0f} MiB of {self.before_mib:.0f}")
        if self.course.statuses["500"]:
            results.append("status 500")
        return results


def warmed_mib(target: Target) -> float:
    """Return the gateway's memory once it has answered."""
    with httpx.Client(timeout=60) as client:
        for _ in range(2):
            with suppress(httpx.HTTPError):
                ask_well(target, client, 30_000)
    return target.mib()


def run_attack(attack: Attack, target: Target) -> Outcome:
    """Attack `target` beside a good client. An app that dies is started again and named in `died`."""
    with attack.place(target):
        before = warmed_mib(target)
        target.watch.reset()
        course = Course(target)
        with canary(target) as waits:
            time.sleep(_BEFORE_S)
            asyncio.run(_bounded(attack, course))
            dead = target.revive()
            time.sleep(_AFTER_S)
        dead += target.revive()
        after = settle(target, before, _SLACK_MIB)
        watch = target.watch
        return Outcome(attack, course, waits, dead, before, watch.peak_mib, after, watch.peak_file_mib)


async def _bounded(attack: Attack, course: Course) -> None:
    try:
        async with asyncio.timeout(attack.most_s):
            await attack.send(course)
    except TimeoutError:
        course.wrong.append(f"was still going on after {attack.most_s:.0f} s")
