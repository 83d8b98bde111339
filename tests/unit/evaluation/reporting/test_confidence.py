"""Points of the refusal curve and the reliability diagram."""

import pytest

from evaluation.judging.verdicts import Judgement, Verdict
from evaluation.reporting.confidence import Point, confidence_of, curve, points, reliability
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import Scored, settle
from loreglass_client.models import Explanation
from tests.unit.evaluation.reporting.generated import Skill, questions, run

PROTOCOL = Protocol.CRAG_MM_2026
RIGHT, WRONG = Verdict.CORRECT, Verdict.INCORRECT


def one(said: str, *, abstained: bool = False, proposed: str | None = None) -> Scored:
    scored = run(Skill("one", right=1.0, refused=0.0), questions(1)).scored[0]
    answer = scored.record.answer
    assert answer is not None
    told = Explanation(proposed=proposed, signals={"answer_confidence": 0.3, "support": 0.5})
    changed = answer.model_copy(
        update={"answer": said, "abstained": abstained, "confidence": 0.7, "explanation": told}
    )
    return Scored(scored.record.model_copy(update={"answer": changed}), Judgement(WRONG, "made up"))


def test_a_model_that_says_it_does_not_know_has_not_answered() -> None:
    assert points(settle([one("I don't know that.")], PROTOCOL), [], PROTOCOL) == []
    assert points([], [one("I do not know.", abstained=True)], PROTOCOL) == []


def test_an_answer_that_was_given_has_the_confidence_it_came_with() -> None:
    assert points(settle([one("Maker 7.")], PROTOCOL), [], PROTOCOL) == [Point(0.7, WRONG, True)]


def test_withheld_answer_has_combined_confidence() -> None:
    assert points([], [one("Maker 7.")], PROTOCOL) == [Point(0.15, WRONG, False)]


@pytest.mark.parametrize(
    ("signals", "confidence"),
    [
        ({"answer_confidence": 0.8}, 0.8),
        ({"answer_confidence": 0.8, "token_mean": 0.5}, 0.4),
        ({"answer_confidence": 0.8, "token_mean": 0.5, "support": 0.25}, 0.2),
        ({"answer_confidence": 0.8, "support": 0.25, "judged": 0.75}, 0.6),
        ({"draft_confidence": 0.9}, 0.9),
        ({"draft_confidence": 0.9, "answer_confidence": 0.8, "citable": 1.0}, 0.8),
    ],
)
def test_the_last_check_that_was_made_counts(signals: dict[str, float], confidence: float) -> None:
    assert confidence_of(Explanation(signals=signals)) == pytest.approx(confidence)


@pytest.mark.parametrize("signals", [{}, {"support": 0.9}, {"draft_confidence": 0.9, "citable": 1.0}])
def test_a_confidence_that_was_not_measured_is_none(signals: dict[str, float]) -> None:
    assert confidence_of(Explanation(signals=signals)) is None


def test_unmeasured_answers_are_only_counted() -> None:
    measured = [Point(0.9, RIGHT, True), Point(0.3, WRONG, False)]
    found = [*measured, Point(None, WRONG, True), Point(None, RIGHT, False)]
    drawn = curve(found, asked=6)
    assert (drawn.coverage, drawn.hallucination) == (2 / 6, 1 / 6)
    assert (drawn.withheld, drawn.unmeasured) == (2, 2)
    assert drawn.risk == curve(measured, asked=6).risk
    assert reliability(found) == reliability(measured)


def test_curve_includes_withheld_answers() -> None:
    found = [Point(0.9, RIGHT, True), Point(0.8, WRONG, True), Point(0.3, WRONG, False)]
    drawn = curve(found, asked=6)
    assert (drawn.coverage, drawn.hallucination, drawn.withheld) == (2 / 6, 1 / 6, 1)
    assert [(p.coverage, p.hallucination) for p in drawn.risk.points] == [
        (0, 0), (1 / 6, 0), (2 / 6, 1 / 6), (3 / 6, 2 / 6),
    ]  # fmt: skip
    assert drawn.risk.aurc == pytest.approx((0 + 1 / 2 + 2 / 3) / 3)
