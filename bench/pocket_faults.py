"""Benchmark 8: what becomes of questions when parts of the pocket platform are taken away."""

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.apart import REDIS, SERVICES, Apart, Step
from bench.arrivals import Outcome, poisson
from bench.benchmark import Bench, Benchmark
from bench.figures import Table, number, share
from bench.generator import NO_REPLY, Body, Load
from bench.photo import multipart
from bench.pocket import index_sample, sample
from bench.report import About

ABOUT = About(
    "pocket-faults",
    "8. Parts of the pocket platform killed and stopped",
    "Real services, each in a process of its own, over the sample; sessions in Redis. First its"
    " capacity: answers in time that a few callers get, each asking again once it has a reply. Then Poisson"
    " arrivals at half of it, while each service in turn gets SIGKILL and is started again, then SIGSTOP and"
    " SIGCONT; Redis too; and no file of a search service can grow, as on a full disk. Counted are all"
    " questions from a fault until it has been over for a few seconds. Late: a quarter of a second after the"
    " deadline, or more.",
    "at least 99 % answered or honestly refused in time, none late, none unverified without saying so.",
)
DEADLINE_MS = 10_000
LATE_MS = 250.0
_SEED = 13
_CALLERS = 4
_AWAY_S, _BACK_S = 9.0, 5.0
_VERIFIER = "verifier"
_NOT_IN_TIME = frozenset({"timed_out", "overloaded", "unavailable"})


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the questions of one fault. `unsaid`: answered, not verified, and not said to be so.

    `surer`: answered without verification with a higher confidence than the same question with it.
    """

    asked: int = 0
    answered: int = 0
    refused: int = 0
    busy: int = 0
    out_of_time: int = 0
    unanswered: int = 0
    faults: int = 0
    late: int = 0
    unverified: int = 0
    unsaid: int = 0
    surer: int = 0

    @property
    def honest(self) -> int:
        """Answered or refused in words, in time: a 503 says so too."""
        return self.answered + self.refused + self.busy

    def __add__(self, other: "Counts") -> "Counts":
        fields = self.__dataclass_fields__
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in fields})


def counted(outcomes: Sequence[Outcome], questions: Sequence[int], confidence: Mapping[int, float]) -> Counts:
    """`questions`: which was asked each time; `confidence`: of those that are verified when all is well."""
    total = Counts()
    for outcome, question in zip(outcomes, questions, strict=True):
        total += _counted(outcome, confidence.get(question))
    return total


def _counted(outcome: Outcome, usual: float | None) -> Counts:
    reply = outcome.reply
    late = int(outcome.ms > DEADLINE_MS + LATE_MS)
    if reply.status == 0 or reply.kind == NO_REPLY:
        return Counts(asked=1, unanswered=1, late=late)
    if reply.status != 200:
        known = {503: "busy", 504: "out_of_time"}.get(reply.status, "faults")
        return Counts(asked=1, late=late, **{known: 1})
    if not reply.answered:
        return Counts(asked=1, refused=1, late=late)
    said = any("verif" in each for each in reply.degraded)
    unverified = said or (usual is not None and _VERIFIER not in dict(reply.timings_ms))
    return Counts(
        asked=1,
        answered=1,
        late=late,
        unverified=int(unverified),
        unsaid=int(unverified and not said),
        surer=int(unverified and _is_surer(reply.confidence, usual)),
    )


def _is_surer(confidence: float | None, usual: float | None) -> bool:
    return confidence is not None and usual is not None and confidence > usual + 1e-6


@dataclass(frozen=True, slots=True)
class Fault:
    """Something taken away, and how it comes back."""

    what: str
    part: str
    away: Step
    back: Step


async def run(bench: Bench) -> Sequence[Table]:
    """Capacity, then every fault in turn."""
    with tempfile.TemporaryDirectory() as folder:
        data, bodies = Path(folder), _bodies(bench)
        bench.progress(0.0, "starting")
        with Apart(data) as platform:
            bench.progress(0.05, "indexing")
            await asyncio.to_thread(index_sample, {name: platform.url(name) for name in SERVICES})
            usual = await _asked_once(bench, platform, bodies)
            bench.progress(0.15, "capacity")
            capacity = await _capacity(bench, platform, bodies)
            faults = _faults(platform, bench)
            rows = [("none", await _under(bench, platform, bodies, usual, capacity / 2, None))]
            for place, fault in enumerate(faults):
                bench.progress(0.25 + 0.75 * place / len(faults), fault.what)
                rows.append((fault.what, await _under(bench, platform, bodies, usual, capacity / 2, fault)))
    return [_table(rows, capacity)]


def _bodies(bench: Bench) -> tuple[Body, ...]:
    """Questions of the sample, with their photos."""
    chosen = sample().single[: bench.count(24, least=6)]
    return tuple(
        multipart(
            {"question": each.turns[0].question, "deadline_ms": str(DEADLINE_MS)},
            each.photo.read_bytes() if each.photo else None,
        )
        for each in chosen
    )


async def _asked_once(bench: Bench, platform: Apart, bodies: tuple[Body, ...]) -> dict[int, float]:
    """Twice each, for photos are read once: how sure the platform is when all is well."""
    load = Load(f"{platform.url('gateway')}/answer", bodies, concurrency=1, count=2 * len(bodies))
    outcomes = await bench.generator.fire(load)
    second = outcomes[len(bodies) :]
    return {
        place: each.reply.confidence
        for place, each in enumerate(second)
        if each.reply.answered
        and each.reply.confidence is not None
        and _VERIFIER in dict(each.reply.timings_ms)
    }


async def _capacity(bench: Bench, platform: Apart, bodies: tuple[Body, ...]) -> float:
    """Questions a second that are answered or refused in time, none of them for want of time."""
    count = bench.count(120, least=24)
    load = Load(f"{platform.url('gateway')}/answer", bodies, concurrency=_CALLERS, count=count)
    outcomes = await bench.generator.fire(load)
    took_s = max(each.sent_s + each.ms / 1000 for each in outcomes)
    good = [
        each
        for each in outcomes
        if each.reply.status == 200 and each.ms <= DEADLINE_MS and each.reply.kind not in _NOT_IN_TIME
    ]
    return len(good) / took_s


def _faults(platform: Apart, bench: Bench) -> list[Fault]:
    parts = [*SERVICES, *([REDIS] if platform.has_redis else [])]
    parts = parts if bench.pace == 1 else ["verifier", "ocr"]
    found = []
    for part in parts:
        found.append(Fault(f"{part} killed", part, platform.kill, platform.restart))
        found.append(Fault(f"{part} stopped", part, platform.stop, platform.resume))
    for part in ("image_search", "text_search"):
        found.append(Fault(f"disk of {part} full", part, platform.close_disk, platform.open_disk))
    return found


async def _under(
    bench: Bench,
    platform: Apart,
    bodies: tuple[Body, ...],
    usual: Mapping[int, float],
    rate: float,
    fault: Fault | None,
) -> Counts:
    """Arrivals at `rate` from the fault until it has been over for a while."""
    away_s, back_s = bench.seconds(_AWAY_S, 4.0), bench.seconds(_BACK_S, 3.0)
    offsets = tuple(poisson(rate, away_s + back_s, _SEED)) or (0.0,)
    order = tuple(place % len(bodies) for place in range(len(offsets)))
    load = Load(f"{platform.url('gateway')}/answer", bodies, order, offsets)
    if fault:
        await asyncio.to_thread(fault.away, fault.part)
    sending = asyncio.create_task(bench.generator.fire(load))
    await asyncio.sleep(away_s)
    if fault:
        await asyncio.to_thread(fault.back, fault.part)
    return counted(await sending, order, usual)


_HEADERS = (
    *("fault", "asked", "answered", "honestly refused", "503", "504", "unanswered", "500", "late"),
    *("unverified, said so", "unverified, not said", "surer than when verified"),
)


def _table(rows: Sequence[tuple[str, Counts]], capacity: float) -> Table:
    total = sum((each for what, each in rows if what != "none"), Counts())
    told = tuple(_row(what, each) for what, each in (*rows, ("all faults", total)))
    met = total.honest >= 0.99 * total.asked and not total.late and not total.unsaid
    finding = (
        f"Capacity: {number(capacity)} questions a second; asked at half of it."
        f" {share(total.honest, total.asked)} answered or honestly refused; {total.late} late;"
        f" {total.unsaid} unverified without saying so. The goal is {'met' if met else 'missed'}."
    )
    return Table(_HEADERS, told, finding)


def _row(what: str, each: Counts) -> tuple[str, ...]:
    counts = (
        *(each.asked, each.answered, each.refused, each.busy, each.out_of_time, each.unanswered, each.faults),
        *(each.late, each.unverified - each.unsaid, each.unsaid, each.surer),
    )
    return (what, *map(str, counts))


BENCHMARK = Benchmark(ABOUT, run)
