"""SQuAD scores against an independent recomputation."""

import math
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.data.model import AnswerType, Truth
from evaluation.judging.rule_judge import judge_by_rules
from evaluation.judging.text import exact_match, is_refusal, normalised, says, word_f1
from evaluation.scoring.scored import Scored, case_of
from evaluation.scoring.spans import marked, span_scores
from loreglass_client.models import Citation, CitationKind
from tests.unit.evaluation.records import answered, turn_of
from tests.unit.evaluation.scoring import span_recomputation
from tests.unit.evaluation.scoring.span_recomputation import Prediction, recompute

WORDS = (
    "the", "a", "An", "bell", "Bell,", "of", "Orrin", "12", "1,200", "May", "U.S.", "don't", "…", "é",
    "theme",
)  # fmt: skip
TEXT = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join) | st.text(max_size=30)
GOLD = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join).filter(normalised)
PREDICTIONS = st.lists(
    st.fixed_dictionaries({"said": st.none() | TEXT, "golds": st.lists(GOLD, max_size=3)}),
    min_size=1,
    max_size=8,
)


def scored(prediction: Prediction, number: int = 0, client_ms: float = 10.0) -> Scored:
    """The prediction as a run keeps it, judged by the rules."""
    said, golds = prediction["said"], prediction["golds"]
    name = f"q{number}"
    kind = AnswerType.SPAN if golds else AnswerType.UNANSWERABLE
    record = turn_of(
        name,
        None if said is None else answered(said or None),
        gold=golds[0] if golds else "I don't know.",
        truth=Truth(interaction_id=name, answer_type=kind, accepted=tuple(golds)),
        client_ms=client_ms,
    )
    return Scored(record, judge_by_rules(case_of(record)))


def figures(predictions: list[Prediction]) -> dict[str, float]:
    """Ours, without those that there are none of."""
    scores = span_scores([scored(each, number) for number, each in enumerate(predictions)])
    told = {**asdict(scores), **asdict(scores.outcomes)}
    names = (
        "exact", "f1", "has_exact", "has_f1", "no_answer", "words_median", "words_p90",
        "right", "wrong", "not_known", "answered",
    )  # fmt: skip
    return {name: told[name] for name in names if not math.isnan(told[name])}


def speakable(prediction: Prediction) -> bool:
    """Whether the judge and the recomputation mean the same by an answer and by a gold.

    Left out: what the judge reads as a refusal or as empty, and what only its second spelling finds.
    """
    said, golds = prediction["said"] or "", prediction["golds"]
    return is_refusal(said) == (not said) and says(said, golds) == span_recomputation.holds(said, golds)


def test_gold_in_closest_passage_scores_nothing() -> None:
    def refused(snippet: str) -> Scored:
        one = scored({"said": "", "golds": ["May 1881"]})
        assert one.record.answer is not None
        closest = Citation(title="", url="", snippet=snippet, score=0.5, kind=CitationKind.PAGE)
        answer = one.record.answer.model_copy(update={"closest": closest})
        record = one.record.model_copy(update={"answer": answer})
        return Scored(record, judge_by_rules(case_of(record)))

    right = scored({"said": "It opened in May 1881.", "golds": ["May 1881"]})
    without = scored({"said": "", "golds": ["May 1881"]})
    scores = span_scores([right, without, refused("It opened on 12 May 1881."), refused("In May 18811.")])
    assert scores.held == 0.5
    assert (scores.outcomes.right, scores.outcomes.not_known) == (0.25, 0.75)


@settings(max_examples=80)
@given(PREDICTIONS)
def test_any_predictions_score_the_same_twice(predictions: list[Prediction]) -> None:
    kept = [each for each in predictions if speakable(each)]
    if kept:
        assert figures(kept) == pytest.approx(recompute(kept), abs=1e-12)


@settings(max_examples=80)
@given(TEXT, st.lists(TEXT, max_size=3))
def test_exact_match_and_f1_are_those_of_the_published_rules(said: str, golds: list[str]) -> None:
    assert exact_match(said, golds) == span_recomputation.exact(said, golds)
    assert word_f1(said, golds) == pytest.approx(span_recomputation.f1(said, golds), abs=1e-12)


def test_questions_of_another_kind_are_not_scored_as_stretches() -> None:
    kinds = (AnswerType.NAME, AnswerType.UNANSWERABLE)
    others = [scored({"said": "Edda Marr", "golds": []}, n) for n in range(2)]
    told = [
        Scored(
            each.record.model_copy(update={"truth": Truth(interaction_id="q", answer_type=kind)}),
            each.judgement,
        )
        for each, kind in zip(others, kinds, strict=True)
    ]
    assert marked(told) == []
    assert len(marked([*others, scored({"said": "", "golds": ["Edda Marr"]})])) == 3
