"""Runs that are compared, their confidence and their failures."""

from collections import Counter
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pandas as pd
import pytest

from evaluation.data.model import AnswerType, Part, Truth
from evaluation.judging.verdicts import Judgement, Verdict
from evaluation.reporting.comparison import JudgedRun, ReportError, compare
from evaluation.reporting.curves import confidence_of, curve, proposed_answers
from evaluation.reporting.tables import MOST, Lesson, failure_examples, gold_in_evidence
from evaluation.scoring.protocols import Protocol, Scored, TurnOutcome, settle
from loreglass_client.models import CitationKind, EvidenceSeen, Explanation
from tests.unit.evaluation.records import answered, turn_of
from tests.unit.evaluation.reporting.generated import Skill, questions, run

ASKED = questions(12, seed=1)


def judged(name: str, **changes: str) -> JudgedRun:
    generated = run(Skill(name), ASKED)
    header = generated.header.model_copy(update=changes)
    return JudgedRun(Path(f"runs/{name}"), header, generated.scored)


def without(judged_run: JudgedRun, *lost: str) -> JudgedRun:
    rest = tuple(each for each in judged_run.scored if each.record.interaction_id not in lost)
    return replace(judged_run, scored=rest)


def test_runs_on_different_datasets_are_refused_by_name() -> None:
    with pytest.raises(ReportError, match=r"runs/other one on crag-mm: only runs on the same dataset"):
        compare([judged("one"), judged("other", dataset="crag-mm")])


def test_reworded_question_is_refused() -> None:
    other = judged("other")
    changed = other.scored[3].record.model_copy(update={"gold": "Something else."})
    scored = (*other.scored[:3], replace(other.scored[3], record=changed), *other.scored[4:])
    with pytest.raises(ReportError, match=f"question {changed.interaction_id} in other words"):
        compare([judged("one"), replace(other, scored=scored)])


def test_unfinished_conversation_is_left_out() -> None:
    last = next(record for record in reversed(ASKED) if record.part is Part.MULTI)
    comparison = compare([judged("one"), without(judged("other"), last.interaction_id)])
    one, other = ([turn.record for turn in each.scored] for each in comparison.runs.values())
    assert last.session_id not in {record.session_id for record in one}
    assert [record.interaction_id for record in one] == [record.interaction_id for record in other]
    assert "The runs overlap only in part: 11 of 12 conversations" in comparison.remarks[0]


def test_withheld_answers_are_limited_to_common_conversations() -> None:
    one = judged("one")
    lost = one.scored[0].record
    comparison = compare([replace(one, withheld=one.scored), without(judged("other"), lost.interaction_id)])
    assert lost.session_id not in {each.record.session_id for each in comparison.runs["one"].withheld}


def test_runs_without_a_common_conversation_are_refused() -> None:
    early = {record.session_id for record in ASKED[: len(ASKED) // 2]}
    first = without(judged("one"), *(r.interaction_id for r in ASKED if r.session_id in early))
    second = without(judged("other"), *(r.interaction_id for r in ASKED if r.session_id not in early))
    with pytest.raises(ReportError, match="no conversation in common"):
        compare([first, second])


def test_runs_with_equal_names_are_numbered() -> None:
    comparison = compare([judged("same"), judged("same"), replace(judged("same"), folder=Path("runs/third"))])
    assert list(comparison.runs) == ["same (1)", "same (2)", "same (3)"]


PROTOCOL = Protocol.CRAG_MM_2026
RIGHT, WRONG = Verdict.CORRECT, Verdict.INCORRECT


def one(text: str, *, abstained: bool = False) -> Scored:
    explanation = Explanation(signals={"answer_confidence": 0.3, "support": 0.5})
    answer = answered(text, abstained=abstained, confidence=0.7, explanation=explanation)
    return Scored(turn_of("one", answer), Judgement(WRONG, "made up"))


def verdict_of(scored: Scored) -> Verdict:
    return scored.verdict(PROTOCOL)


def test_models_own_refusal_is_not_an_answer() -> None:
    assert proposed_answers(
        [one("I don't know that.")], [one("I do not know.", abstained=True)], verdict_of
    ).empty


def test_withheld_answers_have_a_combined_confidence() -> None:
    given = proposed_answers([one("Maker 7.")], [], verdict_of)
    withheld = proposed_answers([], [one("Maker 7.")], verdict_of)
    assert [given["confidence"].item(), withheld["confidence"].item()] == [0.7, 0.15]
    assert [given["given"].item(), withheld["given"].item()] == [True, False]


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
def test_last_check_counts(signals: dict[str, float], confidence: float) -> None:
    assert confidence_of(Explanation(signals=signals)) == pytest.approx(confidence)


@pytest.mark.parametrize("signals", [{}, {"support": 0.9}, {"draft_confidence": 0.9, "citable": 1.0}])
def test_unmeasured_confidence_is_none(signals: dict[str, float]) -> None:
    assert confidence_of(Explanation(signals=signals)) is None


def answers(*rows: tuple[float | None, Verdict, bool]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["confidence", "verdict", "given"])
    return frame.astype({"confidence": float})


def test_unmeasured_answers_are_only_counted() -> None:
    measured = [(0.9, RIGHT, True), (0.3, WRONG, False)]
    drawn = curve(answers(*measured, (None, WRONG, True), (None, RIGHT, False)), questions=6)
    assert (drawn.coverage, drawn.hallucination) == (2 / 6, 1 / 6)
    assert (drawn.withheld, drawn.unmeasured) == (2, 2)
    assert drawn.points == curve(answers(*measured), questions=6).points


def test_curve_includes_withheld_answers() -> None:
    drawn = curve(answers((0.3, WRONG, False), (0.9, RIGHT, True), (0.8, WRONG, True)), questions=6)
    assert (drawn.coverage, drawn.hallucination, drawn.withheld) == (2 / 6, 1 / 6, 1)
    assert [(p.coverage, p.hallucination) for p in drawn.points] == [
        (0, 0), (1 / 6, 0), (2 / 6, 1 / 6), (3 / 6, 2 / 6),
    ]  # fmt: skip
    assert drawn.aurc == pytest.approx((0 + 1 / 2 + 2 / 3) / 3)


def test_equal_confidences_are_averaged_over_orders() -> None:
    tied = [WRONG, RIGHT, RIGHT, WRONG]
    orders = [
        curve(answers(*((place / 9, verdict, True) for place, verdict in enumerate(order))), 4).aurc
        for order in permutations(tied)
    ]
    result = curve(answers(*((0.5, verdict, True) for verdict in tied)), 4)
    assert result.aurc == pytest.approx(sum(orders) / len(orders))


FAILED_ASKED = questions(240, seed=9)
FAILED_PROTOCOL = Protocol.KDD_CUP_2025


SYSTEMS = {
    name: settle(run(Skill(name, right), FAILED_ASKED).scored, FAILED_PROTOCOL)
    for name, right in (("mine", 0.4), ("yours", 0.6))
}


def test_failure_examples_are_mixed_and_start_with_the_surest() -> None:
    failures = failure_examples("mine", SYSTEMS)
    assert len({failure.record.interaction_id for failure in failures}) == len(failures) == MOST
    order = [list(Lesson).index(failure.lesson) for failure in failures]
    assert order == sorted(order)
    assert Counter(order).most_common(1)[0][1] <= MOST / 2
    wrong = [turn for turn in SYSTEMS["mine"] if turn.alone is Verdict.INCORRECT]
    surest = max(turn.scored.record.answer.confidence for turn in wrong if turn.scored.record.answer)
    first = failures[0]
    assert first.lesson is Lesson.HALLUCINATED
    assert first.record.answer
    assert first.record.answer.confidence == surest


@pytest.mark.parametrize(
    ("changes", "lessons"),
    [
        ({"truth": Truth(interaction_id="x", answer_type=AnswerType.UNANSWERABLE)}, {Lesson.HALLUCINATED}),
        ({"answer": None, "error": "overloaded"}, set()),
    ],
)
def test_correct_refusals_and_lost_requests_are_not_failures(
    changes: dict[str, object], lessons: set[Lesson]
) -> None:
    scored = [turn.scored for turn in SYSTEMS["mine"]]
    changed = [replace(each, record=each.record.model_copy(update=changes)) for each in scored]
    result = failure_examples("mine", {"mine": settle(changed, FAILED_PROTOCOL)})
    assert {failure.lesson for failure in result} == lessons


def with_evidence(text: str, **changes: object) -> TurnOutcome:
    seen = EvidenceSeen(text=text, title="A page", url="", kind=CitationKind.PAGE, score=0.81)
    record = turn_of("one", answered(None, explanation=Explanation(evidence=[seen])), **changes)
    return settle([Scored(record, Judgement(Verdict.MISSING, ""))], FAILED_PROTOCOL)[0]


def test_evidence_match_ignores_accents_and_case() -> None:
    truth = Truth(interaction_id="x", answer_type=AnswerType.NAME, accepted=("Émile Zola",))
    assert gold_in_evidence(with_evidence("… written by EMILE ZOLA, in Paris.", truth=truth))
    assert not gold_in_evidence(with_evidence("… written by Emile Zolas.", truth=truth))


def test_yes_in_the_evidence_is_not_an_evidence_match() -> None:
    truth = Truth(interaction_id="x", answer_type=AnswerType.BOOLEAN, accepted=("yes",))
    gold = "Yes, the warranty covers water damage."
    assert not gold_in_evidence(with_evidence("Oh yes, a fine day.", truth=truth, gold=gold))
    assert gold_in_evidence(
        with_evidence("So yes: its warranty covers water damage.", truth=truth, gold=gold)
    )
