"""SQuAD runs in the report and on the terminal."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from evaluation.cli import app
from evaluation.commands.report import write_report
from evaluation.judging.text import APPROXIMATE
from evaluation.reporting.comparison import load_judged_run
from evaluation.reporting.curves import STEPS, span_report
from evaluation.scoring.protocols import Protocol
from tests.unit.evaluation.generated_runs import GOLD, OTHER, Question, questions, write_run
from tests.unit.evaluation.reporting.generated import Skill, run, written
from tests.unit.evaluation.reporting.generated import questions as others

ASKED = st.lists(
    st.builds(
        Question,
        confidence=st.sampled_from([0.0, 0.05, 0.1, 0.35, 0.4, 0.41, 0.7, 0.9, 1.0]),
        said=st.sampled_from([GOLD, OTHER]),
        answerable=st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25)
@given(ASKED)
def test_each_step_scores_answers_of_at_least_its_confidence(
    tmp_path_factory: pytest.TempPathFactory, asked: list[Question]
) -> None:
    asked = [*asked, Question(0.5)]
    folder = tmp_path_factory.mktemp("run") / "run"
    write_run(folder, asked)
    report = span_report(load_judged_run(folder, "rules", APPROXIMATE))
    assert report
    has = [each for each in asked if each.answerable]
    no = [each for each in asked if not each.answerable]
    for step, least in zip(report.steps, STEPS, strict=True):
        given_ones = [each for each in has if each.confidence >= least]
        assert step.outcomes.right == sum(each.said == GOLD for each in given_ones) / len(has)
        assert step.outcomes.wrong == sum(each.said != GOLD for each in given_ones) / len(has)
        assert step.outcomes.not_known == pytest.approx(1 - len(given_ones) / len(has))
        if no:
            assert step.outcomes.answered == sum(each.confidence >= least for each in no) / len(no)


def page_of(folder: Path, out: Path) -> str:
    write_report([folder], out, judge="rules", protocol=Protocol.CRAG_MM_2026, cut=APPROXIMATE)
    return (out / "report.html").read_text("utf-8")


def test_span_report_has_outcomes_and_curve(tmp_path: Path) -> None:
    write_run(tmp_path / "run", questions(60))
    page = page_of(tmp_path / "run", tmp_path / "out")
    for words in ('id="spans"', "HasAns F1", "confidence from 0.4"):
        assert words in page
    assert "There is no photo" in page
    (system,) = json.loads((tmp_path / "out/report.json").read_text("utf-8"))["systems"]
    assert system["spans"]["scores"]["outcomes"]["answerable"] == 40


def shown(folder: Path) -> Result:
    return CliRunner().invoke(app, ["squad", str(folder)], env={"COLUMNS": "120"})


def test_squad_report_command_prints_outcomes(tmp_path: Path) -> None:
    write_run(
        tmp_path / "run",
        [Question(0.9), Question(0.9, OTHER), Question(0.1), Question(0.1, answerable=False)],
    )
    result = shown(tmp_path / "run")
    assert result.exit_code == 0, result.output
    row = next(line for line in result.output.splitlines() if line.startswith("3 + 1"))
    assert " ".join(row.split()[3:]) == "33.3 % 33.3 % 33.3 % 0.0 % 50.0 % 50.0 % 2 13 ms"
    assert "HasAns EM 33.3 %, F1 33.3 %, NoAns 100.0 %" in result.output


def test_a_run_of_another_kind_is_refused_in_a_sentence(tmp_path: Path) -> None:
    result = shown(written(run(Skill("one"), others(9)), tmp_path / "run"))
    assert (result.exit_code, "eval report" in result.output) == (1, True)
    assert shown(tmp_path / "none").exit_code == 1
