"""The rules judge on gold cases, and on gold answers that are sentences."""

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from evaluation.cli import app
from evaluation.judging import prompt
from evaluation.judging.agreement import gold_cases, with_people
from evaluation.judging.model_judge import undisputed
from evaluation.judging.rule_judge import judge_by_rules
from evaluation.judging.verdicts import Case, Judgement, Verdict
from tests.unit.evaluation.judging.scripted_judge import Body, ScriptedJudge, case_in, marks, serving

CASES = gold_cases()
RIGHT = {(each.case.question, each.case.answer): each.verdict is Verdict.CORRECT for each in CASES}


async def told(judge: ScriptedJudge) -> Result:
    """What the command prints with a model behind it."""
    async with serving(judge) as url:
        arguments = ["gold", "--judge", "model", "--base-url", url, "--model", "m"]
        return await anyio.to_thread.run_sync(lambda: CliRunner().invoke(app, arguments))


def test_no_gold_case_is_an_example() -> None:
    shown = {text for each in prompt.EXAMPLES for text in (each.question, each.truth, each.answer)}
    assert not shown & {
        text for each in CASES for text in (each.case.question, each.case.gold, each.case.answer)
    }


def test_scores_by_verdict_are_those_of_counting() -> None:
    first, *rest = [each for each in CASES if each.verdict is Verdict.INCORRECT]
    said = {each.case.interaction_id: Judgement(each.verdict, "") for each in CASES}
    said[first.case.interaction_id] = Judgement(Verdict.CORRECT, "")
    found = with_people(CASES, said)
    rights = sum(each.verdict is Verdict.CORRECT for each in CASES)
    scores = found.by_verdict() / 100
    assert scores.loc["correct", "precision"] == pytest.approx(rights / (rights + 1))
    assert scores.loc["incorrect", "recall"] == pytest.approx(len(rest) / (len(rest) + 1))
    assert scores.loc["correct", "accuracy"] == pytest.approx(1 - 1 / len(CASES))


def test_the_rules_judge_agrees_with_people_on_most() -> None:
    found = with_people(CASES, {each.case.interaction_id: judge_by_rules(each.case) for each in CASES})
    assert found.accuracy > 0.7


def test_the_command_prints_the_rules_judge_by_kind() -> None:
    result = CliRunner().invoke(app, ["gold"])
    assert result.exit_code == 0
    assert f"rules: answers: {len(CASES)}, equal" in result.output
    assert all(kind in result.output for kind in {each.kind for each in CASES})


@pytest.mark.anyio
async def test_perfect_model_agrees_with_people() -> None:
    def script(body: Body, _: int) -> object:
        asked = case_in(body)
        return marks(RIGHT[asked["question"], asked["answer"]])

    judge = ScriptedJudge(script)  # type: ignore[arg-type]
    result = await told(judge)
    assert "equal 100.0%, kappa 1.000" in result.output
    assert len(judge.asked) == sum(undisputed(each.case) is None for each in CASES)


def test_people_are_no_judge_to_be_compared() -> None:
    assert CliRunner().invoke(app, ["gold", "--judge", "human"]).exit_code == 2


def assert_verdict(case: tuple[str, str], answer: str, right: bool) -> None:
    """Judge an answer to the question of `case` against its gold."""
    question, gold = case
    judgement = judge_by_rules(Case("i", question, gold, answer))
    assert judgement.verdict is (Verdict.CORRECT if right else Verdict.INCORRECT), judgement


PRICE = ("how much does this magazine cost?", "The Fjord Weekly costs 4.50 euros.")
PAGES = ("how many pages does this book have?", "The 2019 edition of Salt Road has 312 pages.")
RANGE = ("what's the range of this car?", "It has a range of 300 miles.")
YEAR = ("when was this car first made?", "The Orlo 5 was first produced in 1972.")
CAR = ("what car is this?", "This is an Orlo 5 Estate.")
WRITER = ("who wrote this book?", "The book was written by Gabriela de la Torre in 1967.")
COLOURS = ("what colours does it come in?", "It comes in red, dark blue and green.")
OPEN = ("is this shop open on sunday?", "Yes, it opens at ten.")
USE = ("what is this plant used for?", "It is mostly used to soothe burns.")
SAFE = ("can dogs eat this?", "Dogs should not eat it because it upsets their stomachs.")


@pytest.mark.parametrize(
    ("case", "answer", "right"),
    [
        (PRICE, "€4.50", True),
        (PRICE, "It costs 5.40 euros.", False),
        (PAGES, "It has 312.", True),
        (PAGES, "2019", False),
        (RANGE, "About 483 km.", True),
        (RANGE, "About 400 km.", False),
        (YEAR, "It came out in 1972.", True),
        (YEAR, "1973", False),
        (CAR, "an orlo 5 estate from the eighties", True),
        (CAR, "an Orlo 7", False),
        (WRITER, "Gabriela Torres", False),
        (COLOURS, "green, red, and dark blue", True),
        (COLOURS, "green and red", False),
        (OPEN, "Yes.", True),
        (OPEN, "No, it is closed.", False),
        (USE, "People soothe burns with it.", True),
        (USE, "It is used as a spice.", False),
        (SAFE, "It upsets their stomach, so they shouldn't eat it.", True),
        (SAFE, "They eat it gladly because it settles upset stomachs.", False),
    ],
)
def test_the_question_decides_which_part_of_the_gold_counts(
    case: tuple[str, str], answer: str, right: bool
) -> None:
    assert_verdict(case, answer, right)


@pytest.mark.parametrize(
    ("question", "gold", "right", "wrong"),
    [
        ("what's the weight limit?", "The weight limit is 300 lbs.", ("300 lb", "136 kg"), ("300 kg",)),
        ("what's the score?", "The score is 3-2.", ("3-2", "3 to 2"), ("3-3", "2-1")),
        ("how many goals were that?", "He scored 27 goals in the 2022-23 season.", ("27",), ("22", "2022")),
        ("what percent alcohol?", "It has 5% alcohol by volume.", ("5 percent", "5.0%"), ("4.5%",)),
        ("solve this equation", "The answer is x = 5.", ("x=5",), ("x = -5",)),
        (
            "how often should i water it?",
            "You should water it once every two to three weeks.",
            ("Every 2-3 weeks.",),
            ("Every 2-3 days.", "Once a week."),
        ),
        (
            "who founded this company?",
            "The shop was founded by Ada Renn and Otto Lind.",
            ("Otto Lind and Ada Renn, in 1964",),
            ("Otto Lind", "Lind"),
        ),
        (
            "what breed is it?",
            "The dog is a golden retriever.",
            ("golden retriever",),
            ("Labrador retriever",),
        ),
    ],
)
def test_the_usual_golds_are_judged_as_a_person_would(
    question: str, gold: str, right: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    for answers, verdict in ((right, Verdict.CORRECT), (wrong, Verdict.INCORRECT)):
        for answer in answers:
            judgement = judge_by_rules(Case("i", question, gold, answer))
            assert (answer, judgement.verdict) == (answer, verdict), judgement


TOXIC = ("is this plant toxic to cats?", "Yes, lilies are toxic to cats.")
RAW = ("can i eat this raw?", "No, it must be cooked.")
TALLER = ("is this taller than the Old Mill?", "Yes, by 20 metres.")


@pytest.mark.parametrize(
    ("case", "answer", "right"),
    [
        (TOXIC, "It is toxic to cats, but not to dogs.", True),
        (TOXIC, "Lilies aren't toxic to cats.", False),
        (TOXIC, "It is safe for cats.", False),
        (RAW, "You should not eat it raw.", True),
        (RAW, "You can eat it raw.", False),
        (RAW, "You can eat it.", False),
        (TALLER, "It is taller than the Old Mill.", True),
        (("is this edible?", "No, it is poisonous."), "It isn't edible.", True),
        (("isn't this edible?", "No."), "It isn't edible.", True),
    ],
)
def test_repeating_what_was_asked_says_yes_and_denying_it_says_no(
    case: tuple[str, str], answer: str, right: bool
) -> None:
    assert_verdict(case, answer, right)


PIECES = (
    "how many", "A", "a,", "and", "or", "this", "is", "9", "/", "1/0", "×", "“", "12:00", "March", "not",
    "€",
)  # fmt: skip
TEXT = st.text(max_size=80) | st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join)


@given(question=TEXT, gold=TEXT, answer=TEXT)
def test_whatever_is_written_there_is_a_verdict(question: str, gold: str, answer: str) -> None:
    judgement = judge_by_rules(Case("i", question, gold, answer))
    assert not judgement.failed
    assert judgement.why


@pytest.mark.parametrize(
    "piece", ["A ", "a,", "A-", "A, and ", "9", "1/", "1.", "-1", "(", "not ", "5 x 5 x ", "the A ", "“", " "]
)
def test_endless_text_is_judged_by_its_beginning(piece: str) -> None:
    endless = piece * 100_000
    assert judge_by_rules(Case("i", endless, endless, endless)).why
    assert judge_by_rules(Case("i", *PRICE, endless)).verdict is not Verdict.CORRECT
