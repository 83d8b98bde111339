"""Scores and stage times on slices of the questions."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from evaluation.data.model import AnswerType, Part
from evaluation.judging.text import canonical, overlap, says
from evaluation.judging.verdicts import Verdict
from evaluation.record import TurnRecord
from evaluation.scoring.measures import percentile
from evaluation.scoring.protocols import TurnOutcome

FEW = 10
"""Values under so many questions say nothing yet."""
NOT_SAID = "not said"
FAILED = "failed request"


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
        """Return whether there are enough questions for a conclusion."""
        return self.count >= FEW


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One way to cut the questions. `slices`: by value, the most frequent first, each system's cell by name.

    `of_questions`: the cut is the same for all systems; else it is by each system's answers.
    """

    name: str
    label: str
    of_questions: bool
    slices: Mapping[str, Mapping[str, Cell]]


def _turn(record: TurnRecord) -> str | None:
    return f"turn {record.turn + 1}" if record.part is Part.MULTI else None


def _refusal(record: TurnRecord) -> str | None:
    if record.answer is None:
        return FAILED
    if not record.answer.abstained:
        return "answered"
    refused_by = record.trace.refused_by if record.trace else None
    return f"{record.answer.reason.value} ({refused_by})" if refused_by else record.answer.reason.value


def _answerable(record: TurnRecord) -> str | None:
    return None if record.truth is None else "can be answered" if record.answerable else "cannot be answered"


_Cut = tuple[str, str, Callable[[TurnRecord], str | None]]
_OF_QUESTIONS: tuple[_Cut, ...] = (
    ("domain", "Domain", lambda record: record.domain or NOT_SAID),
    ("query_category", "Category", lambda record: record.query_category or NOT_SAID),
    ("dynamism", "Dynamism", lambda record: record.dynamism or NOT_SAID),
    ("image_quality", "Image quality", lambda record: record.image_quality or NOT_SAID),
    ("image_kind", "Kind of photo", lambda record: record.image_kind or NOT_SAID),
    ("reference", "How the question names its object", lambda record: record.reference or None),
    (
        "needs",
        "Where the answer is found",
        lambda record: (record.truth.needs or None) if record.truth else None,
    ),
    ("answerable", "Whether there is an answer", _answerable),
    ("turn", "Turn of a conversation", _turn),
)
_OF_ANSWERS: tuple[_Cut, ...] = (
    ("route", "Route", lambda record: record.answer.route.value if record.answer else FAILED),
    ("refusal", "Answered or refused, and by which check", _refusal),
)


def slices_of(systems: Mapping[str, Sequence[TurnOutcome]]) -> tuple[Breakdown, ...]:
    """Return every breakdown for which questions have values, in a fixed order."""
    cuts = []
    for cut in (*_OF_QUESTIONS, *_OF_ANSWERS):
        name, label, key = cut
        verdicts: defaultdict[str, defaultdict[str, list[Verdict]]] = defaultdict(lambda: defaultdict(list))
        for system, outcomes in systems.items():
            for turn in outcomes:
                if (value := key(turn.scored.record)) is not None:
                    verdicts[value][system].append(turn.alone)
        if verdicts.keys() - {NOT_SAID}:  # turns are in their order, other values the most frequent first
            most = {value: max(map(len, inside.values())) for value, inside in verdicts.items()}
            order = sorted(most, key=lambda each: (len(each) if name == "turn" else -most[each], each))
            slices = {value: {system: cell(of) for system, of in verdicts[value].items()} for value in order}
            cuts.append(Breakdown(name, label, cut in _OF_QUESTIONS, slices))
    return tuple(cuts)


def cell(verdicts: Sequence[Verdict]) -> Cell:
    """Return the scores of one or more verdicts."""
    count = len(verdicts)
    right, missing, wrong = (
        verdicts.count(each) / count for each in (Verdict.CORRECT, Verdict.MISSING, Verdict.INCORRECT)
    )
    return Cell(count, right, missing, wrong, sum(verdict.points for verdict in verdicts) / count)


_LAST = ("first_word", "total", "client")


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Milliseconds of one stage. `share`: of the answered questions, those in which it ran."""

    stage: str
    count: int
    share: float
    mean: float
    p50: float
    p95: float


def stage_times(records: Iterable[TurnRecord]) -> tuple[StageTimes, ...]:
    """Return the times of stages in the gateway's order, then of the first word, the total and the client.

    Stages that run beside each other each count in full, so that they may add up to more than the total.
    """
    answered = [record for record in records if record.answer]
    times = [each for record in answered if record.answer for each in record.answer.timings_ms.items()]
    times += [("client", record.client_ms) for record in answered]
    frame = pd.DataFrame(times, columns=["stage", "ms"]).groupby("stage", sort=False)["ms"]
    stages = [
        StageTimes(
            str(stage),
            len(ms),
            len(ms) / len(answered),
            float(ms.mean()),
            percentile(ms, 0.5),
            percentile(ms, 0.95),
        )
        for stage, ms in frame
    ]
    last = {stage: number for number, stage in enumerate(_LAST, 1)}
    return tuple(sorted(stages, key=lambda each: last.get(each.stage, 0)))


MOST = 20
_MOST_OF_A_LESSON = MOST // 2
_CONTAINED = 0.8


class Lesson(StrEnum):
    """The kinds of failures, in the order of the report."""

    HALLUCINATED = "hallucinated"
    HAD_IT_AND_REFUSED = "refused with the answer in the evidence"
    OTHERS_KNEW = "others were right"
    WRONG_OR_REFUSED = "no system was right"


RULE = (
    "Failures of {system}: first hallucinations, the most confident first; then refusals of questions that "
    "have an answer, with the gold answer in the evidence; then failures where another system was right; "
    "then any other. At most ten of a kind and twenty in all; ties by id."
)


@dataclass(frozen=True, slots=True)
class Failure:
    """One question that the system failed. `others_right`: the names of those that were right."""

    lesson: Lesson
    outcome: TurnOutcome
    others_right: tuple[str, ...]

    @property
    def record(self) -> TurnRecord:
        """The question and what came back."""
        return self.outcome.scored.record


def failure_examples(system: str, systems: Mapping[str, Sequence[TurnOutcome]]) -> tuple[Failure, ...]:
    """Return at most twenty failures of `system`, in the order of `RULE`."""
    right: defaultdict[str, list[str]] = defaultdict(list)
    for name, outcomes in systems.items():
        for turn in outcomes:
            if turn.alone is Verdict.CORRECT and name != system:
                right[turn.scored.record.interaction_id].append(name)
    by_lesson: dict[Lesson, list[Failure]] = {lesson: [] for lesson in Lesson}
    for turn in systems[system]:
        others = tuple(right[turn.scored.record.interaction_id])
        if lesson := _lesson(turn, others):
            by_lesson[lesson].append(Failure(lesson, turn, others))
    ranked = (sorted(failures, key=_rank)[:_MOST_OF_A_LESSON] for failures in by_lesson.values())
    return tuple(failure for failures in ranked for failure in failures)[:MOST]


def _lesson(turn: TurnOutcome, others_right: Sequence[str]) -> Lesson | None:
    """Return the kind of failure; None for a correct refusal, and if there is no answer."""
    record = turn.scored.record
    if record.answer is None or turn.alone not in (Verdict.INCORRECT, Verdict.MISSING):
        return None
    if turn.alone is Verdict.INCORRECT:
        return Lesson.HALLUCINATED
    if not record.answerable:
        return None
    if gold_in_evidence(turn):
        return Lesson.HAD_IT_AND_REFUSED
    return Lesson.OTHERS_KNEW if others_right else Lesson.WRONG_OR_REFUSED


def _rank(failure: Failure) -> tuple[float, int, str]:
    answer = failure.record.answer
    sure = answer.confidence if answer and failure.lesson is Lesson.HALLUCINATED else None
    return -(sure or 0.0), -len(failure.others_right), failure.record.interaction_id


def gold_in_evidence(each: TurnOutcome) -> bool:
    """Return whether a piece of evidence has an accepted answer, or most of the gold answer's words."""
    answer = each.scored.record.answer
    if answer is None:
        return False
    seen = answer.explanation.evidence if answer.explanation else ()
    pieces = [piece.text for piece in seen] + [citation.snippet for citation in answer.citations]
    return any(_holds_gold(piece, each.scored.record) for piece in pieces)


def _holds_gold(piece: str, record: TurnRecord) -> bool:
    """Return whether the text has the gold. Yes and no occur in any text: there the gold sentence counts."""
    truth = record.truth
    if truth and truth.accepted and truth.answer_type is not AnswerType.BOOLEAN:
        return says(canonical(piece), [canonical(each) for each in truth.accepted])
    return bool(record.gold) and overlap(piece, record.gold) >= _CONTAINED
