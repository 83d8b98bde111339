"""The rules judge on gold cases, and on gold answers that are sentences."""

from functools import partial

import anyio.to_thread
import pytest
from fastapi import Response
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from evaluation.cli import app
from evaluation.judging.agreement import gold_cases, with_people
from evaluation.judging.model_judge import EXAMPLES, undisputed
from evaluation.judging.rule_judge import judge_by_rules
from evaluation.judging.verdicts import Case, Judgement, Verdict
from tests.unit.evaluation.judging.scripted_judge import Body, ScriptedJudge, case_in, marks, serving

CASES = gold_cases()
RIGHT = {(each.case.question, each.case.answer): each.verdict is Verdict.CORRECT for each in CASES}


def test_gold_cases_are_not_prompt_examples() -> None:
    shown = {text for each in EXAMPLES for text in (each["question"], each["truth"], each["answer"])}
    assert not shown & {
        text for each in CASES for text in (each.case.question, each.case.gold, each.case.answer)
    }


def test_scores_by_verdict_equal_counts() -> None:
    first, *rest = [each for each in CASES if each.verdict is Verdict.INCORRECT]
    texts = {each.case.interaction_id: Judgement(each.verdict, "") for each in CASES}
    texts[first.case.interaction_id] = Judgement(Verdict.CORRECT, "")
    result = with_people(CASES, texts)
    rights = sum(each.verdict is Verdict.CORRECT for each in CASES)
    scores = result.by_verdict() / 100
    assert scores.loc["correct", "precision"] == pytest.approx(rights / (rights + 1))
    assert scores.loc["incorrect", "recall"] == pytest.approx(len(rest) / (len(rest) + 1))
    assert scores.loc["correct", "accuracy"] == pytest.approx(1 - 1 / len(CASES))


def test_rule_judge_agrees_with_people_on_most_cases() -> None:
    result = with_people(CASES, {each.case.interaction_id: judge_by_rules(each.case) for each in CASES})
    assert result.accuracy > 0.7


async def test_perfect_model_agrees_with_people() -> None:
    def script(body: Body, _: int) -> Response:
        case = case_in(body)
        return marks(RIGHT[case["question"], case["answer"]])

    judge = ScriptedJudge(script)
    async with serving(judge) as url:
        arguments = ["gold", "--judge", "model", "--base-url", url, "--model", "m"]
        result = await anyio.to_thread.run_sync(partial(CliRunner().invoke, app, arguments))
    assert "equal 100.0%, kappa 1.000" in result.output
    assert all(kind in result.output for kind in {each.kind for each in CASES})
    assert len(judge.requests) == sum(undisputed(each.case) is None for each in CASES)


PRICE = ("how much does this magazine cost?", "The Fjord Weekly costs 4.50 euros.")
SAFE = ("can dogs eat this?", "Dogs should not eat it because it upsets their stomachs.")
UPSET = "They eat it gladly because it settles upset stomachs."


@pytest.mark.parametrize(
    ("question", "gold", "right", "wrong"),
    [
        (*PRICE, ["€4.50"], ["It costs 5.40 euros."]),
        ("how many pages does it have?", "The 2019 edition has 312 pages.", ["It has 312."], ["2019"]),
        ("what's the range of it?", "It has a range of 300 miles.", ["About 483 km."], ["About 400 km."]),
        ("when was it first made?", "It was first produced in 1972.", ["It came out in 1972."], ["1973"]),
        ("what car is this?", "This is an Orlo 5 Estate.", ["an orlo 5 estate, I think"], ["an Orlo 7"]),
        ("who wrote this?", "It was written by Gabriela de la Torre in 1967.", [], ["Gabriela Torres"]),
        (
            "what colours has it?",
            "It has red, dark blue and green.",
            ["green, red, dark blue"],
            ["green, red"],
        ),
        ("what is it used for?", "It is used to soothe burns.", ["People soothe burns."], ["A spice."]),
        (*SAFE, ["It upsets their stomach, so they shouldn't eat it."], [UPSET]),
        ("what's the weight limit?", "The weight limit is 300 lbs.", ["300 lb", "136 kg"], ["300 kg"]),
        ("what's the score?", "The score is 3-2.", ["3-2", "3 to 2"], ["3-3", "2-1"]),
        ("how many goals?", "He scored 27 goals in the 2022-23 season.", ["27"], ["22", "2022"]),
        ("what percent alcohol?", "It has 5% alcohol by volume.", ["5 percent", "5.0%"], ["4.5%"]),
        ("solve this equation", "The answer is x = 5.", ["x=5"], ["x = -5"]),
        ("how often?", "Once every two to three weeks.", ["Every 2-3 weeks."], ["Every 2-3 days."]),
        ("who founded it?", "Ada Renn and Otto Lind founded it.", ["Otto Lind and Ada Renn"], ["Lind"]),
        ("what breed is it?", "The dog is a golden retriever.", ["golden retriever"], ["Labrador retriever"]),
        ("is this shop open on sunday?", "Yes, it opens at ten.", ["Yes."], ["No, it is closed."]),
        (
            "is this plant toxic to cats?",
            "Yes, lilies are toxic to cats.",
            ["It is toxic to cats, but not to dogs."],
            ["Lilies aren't toxic to cats.", "It is safe for cats."],
        ),
        ("can i eat this raw?", "No, cook it.", ["You should not eat it raw."], ["You can eat it."]),
        ("is this taller than the Mill?", "Yes, by 20 metres.", ["It is taller than the Mill."], []),
        ("isn't this edible?", "No.", ["It isn't edible."], []),
    ],
)
def test_gold_sentences_are_compared_by_question_type(
    question: str, gold: str, right: list[str], wrong: list[str]
) -> None:
    for answers, verdict in ((right, Verdict.CORRECT), (wrong, Verdict.INCORRECT)):
        for answer in answers:
            judgement = judge_by_rules(Case("i", question, gold, answer))
            assert (answer, judgement.verdict) == (answer, verdict), judgement


PIECES = (
    "how many", "A", "a,", "and", "or", "this", "is", "9", "/", "1/0", "×", "“", "12:00", "March", "not",
    "€",
)  # fmt: skip
TEXT = st.text(max_size=80) | st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join)


@given(question=TEXT, gold=TEXT, answer=TEXT)
def test_any_text_gets_a_verdict(question: str, gold: str, answer: str) -> None:
    judgement = judge_by_rules(Case("i", question, gold, answer))
    assert not judgement.failed
    assert judgement.why


@pytest.mark.parametrize(
    "piece", ["A ", "a,", "A-", "A, and ", "9", "1/", "1.", "-1", "(", "not ", "5 x 5 x ", "the A ", "“", " "]
)
def test_very_long_text_is_judged_by_its_beginning(piece: str) -> None:
    endless = piece * 100_000
    assert judge_by_rules(Case("i", endless, endless, endless)).why
    assert judge_by_rules(Case("i", *PRICE, endless)).verdict is not Verdict.CORRECT
