"""Which failures are worth a look: chosen by a rule that is stated, the same ones every time."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evaluation.data.model import AnswerType
from evaluation.judging.text import canonical, overlap, says
from evaluation.judging.verdicts import Verdict
from evaluation.record import TurnRecord
from evaluation.scoring.scored import Settled

MOST = 20
_MOST_OF_A_LESSON = MOST // 2
_CONTAINED = 0.8


class Lesson(StrEnum):
    """The kinds of failures, in the order of the report."""

    HALLUCINATED = "hallucinated"
    HAD_IT_AND_REFUSED = "refused with the answer in hand"
    OTHERS_KNEW = "others were right"
    WRONG_OR_REFUSED = "nobody was right"


RULE = (
    "Failures of {system}: first hallucinations, the most confident first; then refusals of questions that "
    "have an answer, with the gold answer in the evidence; then failures where another system was right; "
    "then any other. At most ten of a kind and twenty in all; ties by id."
)


@dataclass(frozen=True, slots=True)
class Failure:
    """One question that the system failed. `others_right`: the names of those that were right."""

    lesson: Lesson
    settled: Settled
    others_right: tuple[str, ...]

    @property
    def record(self) -> TurnRecord:
        """The question and what came back."""
        return self.settled.scored.record


def instructive(system: str, systems: Mapping[str, Sequence[Settled]]) -> tuple[Failure, ...]:
    """At most twenty failures of `system`, in the order of what they teach, by `RULE`."""
    right: defaultdict[str, list[str]] = defaultdict(list)
    for name, settled in systems.items():
        for turn in settled:
            if turn.alone is Verdict.CORRECT and name != system:
                right[turn.scored.record.interaction_id].append(name)
    by_lesson: dict[Lesson, list[Failure]] = {lesson: [] for lesson in Lesson}
    for turn in systems[system]:
        others = tuple(right[turn.scored.record.interaction_id])
        if lesson := _lesson(turn, others):
            by_lesson[lesson].append(Failure(lesson, turn, others))
    ranked = (sorted(failures, key=_rank)[:_MOST_OF_A_LESSON] for failures in by_lesson.values())
    return tuple(failure for failures in ranked for failure in failures)[:MOST]


def _lesson(turn: Settled, others_right: Sequence[str]) -> Lesson | None:
    """None for a refusal of what cannot be answered, which is no failure, and where no answer came back."""
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


def gold_in_evidence(each: Settled) -> bool:
    """Whether one piece of evidence says an accepted answer, or most of the gold answer's words."""
    answer = each.scored.record.answer
    if answer is None:
        return False
    seen = answer.explanation.evidence if answer.explanation else ()
    pieces = [piece.text for piece in seen] + [citation.snippet for citation in answer.citations]
    return any(_holds_gold(piece, each.scored.record) for piece in pieces)


def _holds_gold(piece: str, record: TurnRecord) -> bool:
    """A yes or no stands in any text, so that there the gold sentence counts."""
    truth = record.truth
    if truth and truth.accepted and truth.answer_type is not AnswerType.BOOLEAN:
        return says(canonical(piece), [canonical(each) for each in truth.accepted])
    return bool(record.gold) and overlap(piece, record.gold) >= _CONTAINED
