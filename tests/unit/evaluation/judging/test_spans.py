"""The rule judge on marked spans, with SQuAD's normalisation."""

import pytest

from evaluation.data.model import AnswerType, Truth
from evaluation.judging.rule_judge import judge_by_rules
from evaluation.judging.text import says
from evaluation.judging.verdicts import Case, Verdict

GOLDS = ("12 May 1881", "May 1881")


def verdict(answer: str, *golds: str, abstained: bool = False) -> Verdict:
    truth = Truth(
        interaction_id="q",
        answer_type=AnswerType.SPAN if golds else AnswerType.UNANSWERABLE,
        accepted=golds,
        must_not=("12 May 1881",),
    )
    case = Case(
        "q", "When was the ferry opened?", golds[0] if golds else "I don't know.", answer, truth, abstained
    )
    return judge_by_rules(case).verdict


@pytest.mark.parametrize(
    "answer",
    [
        "12 May 1881",
        "Opened 12 May 1881.",
        "It was opened in May 1881, as the sign says.",
        "THE 12 MAY 1881!",
        "on 12\nMay  1881",
    ],
)
def test_an_answer_that_holds_a_gold_as_whole_words_is_right(answer: str) -> None:
    assert verdict(answer, *GOLDS) is Verdict.CORRECT


@pytest.mark.parametrize("answer", ["1881", "12 May 18811", "May of 1881", "It was opened long ago.", "the"])
def test_an_answer_that_holds_only_a_part_of_every_gold_is_wrong(answer: str) -> None:
    assert verdict(answer, *GOLDS) is Verdict.INCORRECT


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("red/green", "green"),
        ("1894–1896", "1896"),
        ("Marr's", "Marr"),
        ("U.S.", "US"),
        ("ten-year-old", "ten"),
    ],
)
def test_what_punctuation_parts_or_joins_is_found_either_way(answer: str, gold: str) -> None:
    assert verdict(f"It is {answer}.", gold) is Verdict.CORRECT


@pytest.mark.parametrize("gold", ["the", "...", "a an"])
def test_a_gold_without_words_is_in_no_answer(gold: str) -> None:
    assert not says("the answer, an odd one ...", [gold])
