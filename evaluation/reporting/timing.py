"""Where the time goes: milliseconds of each stage over the questions in which it ran."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from evaluation.record import TurnRecord
from evaluation.scoring.latency import percentile
from loreglass_client.models import Trace

LAST = FIRST_WORD, TOTAL, CLIENT = "first_word", "total", "client"


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Milliseconds of one stage. `share`: of the answered questions, those in which it ran."""

    stage: str
    count: int
    share: float
    mean: float
    p5: float
    p25: float
    p50: float
    p75: float
    p95: float


def stage_times(records: Iterable[TurnRecord]) -> tuple[StageTimes, ...]:
    """In the order in which stages are usually reached, then when there was something to say, the
    gateway's total and what the caller saw.

    Stages that run beside each other each count in full, so that they may add up to more than the total.
    """
    samples: defaultdict[str, list[float]] = defaultdict(list)
    places: defaultdict[str, list[float]] = defaultdict(list)
    answered = 0
    for record in records:
        answer, trace = record.answer, record.trace
        if answer is None:
            continue
        answered += 1
        samples[CLIENT].append(record.client_ms)
        for stage, ms in answer.timings_ms.items():
            samples[stage].append(ms)
        for stage, place in _places(trace) if trace else ():
            places[stage].append(place)

    def reached(stage: str) -> tuple[int, float, str]:
        last = LAST.index(stage) + 1 if stage in LAST else 0
        return last, mean(places[stage]) if places[stage] else 0.0, stage

    return tuple(_times(stage, samples[stage], answered) for stage in sorted(samples, key=reached))


def _places(trace: Trace) -> Iterator[tuple[str, float]]:
    """How far along its question each stage began, in 0..1 by order: stages that few questions reach also
    begin late in milliseconds, because those questions are slow.
    """
    steps = sorted(trace.stages, key=lambda step: step.start_ms)
    for place, step in enumerate(steps):
        yield step.stage, place / len(steps)


def _times(stage: str, values: Sequence[float], answered: int) -> StageTimes:
    points = (percentile(values, share) for share in (0.05, 0.25, 0.50, 0.75, 0.95))
    return StageTimes(stage, len(values), len(values) / answered, mean(values), *points)
