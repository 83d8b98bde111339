"""Scores and stage times on slices of the questions."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from evaluation.data.model import Part
from evaluation.judging.verdicts import Verdict
from evaluation.record import TurnRecord
from evaluation.scoring.measures import percentile
from evaluation.scoring.scored import Settled
from loreglass_client.models import CitationKind, Trace

FEW = 10
"""Values under so many questions say nothing yet."""
NOT_SAID = "not said"
FAILED = "failed request"


@dataclass(frozen=True, slots=True)
class Cut:
    """A way to cut the questions. `of_questions`: the same for all systems; the others are of the answers."""

    name: str
    label: str
    key: Callable[[TurnRecord], str | None]
    of_questions: bool = True


@dataclass(frozen=True, slots=True)
class Cell:
    """One system on one slice: turns as they were answered, before any early stop. Rates in 0..1."""

    count: int
    accuracy: float
    missing: float
    hallucination: float
    truthfulness: float

    @property
    def telling(self) -> bool:
        """Whether there are enough questions to say something."""
        return self.count >= FEW


@dataclass(frozen=True, slots=True)
class Slice:
    """One value of a cut: each system's cell, by name, where it has any such question."""

    value: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Sliced:
    """One cut and its values, the most frequent first; turns in order."""

    name: str
    label: str
    of_questions: bool
    slices: tuple[Slice, ...]


def _turn(record: TurnRecord) -> str | None:
    return f"turn {record.turn + 1}" if record.part is Part.MULTI else None


def _photo_read(record: TurnRecord) -> str | None:
    """Whether the photo's own text is among what the answer rests on."""
    if record.answer is None or record.answer.abstained:
        return None
    kinds = {citation.kind for citation in record.answer.citations}
    return "cites the photo's text" if CitationKind.PHOTO in kinds else "cites other things or nothing"


def _refusal(record: TurnRecord) -> str | None:
    if record.answer is None:
        return FAILED
    if not record.answer.abstained:
        return "answered"
    refused_by = record.trace.refused_by if record.trace else None
    return f"{record.answer.reason.value} ({refused_by})" if refused_by else record.answer.reason.value


def _needs(record: TurnRecord) -> str | None:
    return record.truth.needs or None if record.truth else None


def _answerable(record: TurnRecord) -> str | None:
    return None if record.truth is None else "can be answered" if record.answerable else "cannot be answered"


CUTS: tuple[Cut, ...] = (
    Cut("domain", "Domain", lambda record: record.domain or NOT_SAID),
    Cut("query_category", "Category", lambda record: record.query_category or NOT_SAID),
    Cut("dynamism", "Dynamism", lambda record: record.dynamism or NOT_SAID),
    Cut("image_quality", "Image quality", lambda record: record.image_quality or NOT_SAID),
    Cut("needs", "Where the answer is found", _needs),
    Cut("answerable", "Whether there is an answer", _answerable),
    Cut("turn", "Turn of a conversation", _turn),
    Cut("photo_text", "The photo's text", _photo_read, of_questions=False),
    Cut("route", "Route", lambda record: record.answer.route.value if record.answer else FAILED, False),
    Cut("refusal", "Answered or refused, and by which check", _refusal, of_questions=False),
)


def sliced(systems: Mapping[str, Sequence[Settled]]) -> tuple[Sliced, ...]:
    """Every cut that parts the questions at all, in a fixed order."""
    cut_up = (_cut(cut, systems) for cut in CUTS)
    return tuple(each for each in cut_up if any(part.value != NOT_SAID for part in each.slices))


def _cut(cut: Cut, systems: Mapping[str, Sequence[Settled]]) -> Sliced:
    verdicts: defaultdict[str, dict[str, list[Verdict]]] = defaultdict(dict)
    for name, settled in systems.items():
        for turn in settled:
            value = cut.key(turn.scored.record)
            if value is not None:
                verdicts[value].setdefault(name, []).append(turn.alone)
    most = {value: max(map(len, found.values())) for value, found in verdicts.items()}
    order = sorted(verdicts, key=lambda value: (-most[value], value))
    if cut.name == "turn":
        order = sorted(verdicts, key=lambda value: (len(value), value))
    slices = (Slice(value, {name: cell(found) for name, found in verdicts[value].items()}) for value in order)
    return Sliced(cut.name, cut.label, cut.of_questions, tuple(slices))


def cell(verdicts: Sequence[Verdict]) -> Cell:
    """The scores of some verdicts, of which there is at least one."""
    count = len(verdicts)
    return Cell(
        count=count,
        accuracy=verdicts.count(Verdict.CORRECT) / count,
        missing=verdicts.count(Verdict.MISSING) / count,
        hallucination=verdicts.count(Verdict.INCORRECT) / count,
        truthfulness=sum(verdict.points for verdict in verdicts) / count,
    )


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
