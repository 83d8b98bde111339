"""The gold set and `loreglass eval gold`."""

import anyio
import anyio.to_thread
import pytest
from typer.testing import CliRunner, Result

from evaluation.cli import app
from evaluation.judging import prompt
from evaluation.judging.agreement import gold_cases, held, score_of
from evaluation.judging.model_judge import undisputed
from evaluation.judging.rule_judge import judge_by_rules
from evaluation.judging.verdicts import Judgement, Verdict
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
    found = held(CASES, said)
    rights = sum(each.verdict is Verdict.CORRECT for each in CASES)
    assert score_of(Verdict.CORRECT, found).precision == pytest.approx(rights / (rights + 1))
    assert score_of(Verdict.INCORRECT, found).recall == pytest.approx(len(rest) / (len(rest) + 1))
    assert score_of(Verdict.CORRECT, found).accuracy == pytest.approx(1 - 1 / len(CASES))


def test_the_rules_judge_agrees_with_people_on_most() -> None:
    found = held(CASES, {each.case.interaction_id: judge_by_rules(each.case) for each in CASES})
    assert found.accuracy > 0.7


def test_the_command_prints_the_rules_judge_by_kind() -> None:
    result = CliRunner().invoke(app, ["gold"])
    assert result.exit_code == 0
    assert f"rules: {len(CASES)} answers" in result.output
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
