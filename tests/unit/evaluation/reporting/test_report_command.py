"""`loreglass eval report` and its errors."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from evaluation.commands import report as command
from evaluation.judging.verdicts import Verdict
from evaluation.reporting.formatting import small_photo
from tests.unit.evaluation.reporting.generated import Generated, Skill, questions, run, written
from tests.unit.evaluation.scoring.predictions import keep_verdict

app = typer.Typer(add_completion=False)
app.command()(command.report)


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    every_question = questions(9)
    return [written(run(Skill(name), every_question), tmp_path / name) for name in ("one", "other")]


def make_report(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def numbers(out: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((out / "report.json").read_text())
    return results


def judged(folder: Path, generated: Generated, judge: str, most: int | None = None) -> None:
    for each in generated.scored[:most]:
        keep_verdict(folder, judge, each.record, Verdict.ACCEPTABLE)


def test_systems_are_compared_in_the_order_of_the_runs(two: list[Path], tmp_path: Path) -> None:
    make_report(*reversed(two), "--out", tmp_path / "out")
    report = numbers(tmp_path / "out")
    assert report["studied"] == "other"
    assert [(pair["one"], pair["other"]) for pair in report["pairs"]] == [("other", "one")]


def test_incomplete_judging_must_be_finished_first(tmp_path: Path) -> None:
    generated = run(Skill("one"), questions(9))
    folder = written(generated, tmp_path / "one")
    judged(folder, generated, "model:wise", most=4)
    text = make_report(folder, "--out", tmp_path / "out", "--judge", "model:wise", code=1)
    assert "has answers that model:wise has not judged" in text


def test_partial_human_labels_are_reported(tmp_path: Path) -> None:
    generated = run(Skill("one"), questions(9))
    folder = written(generated, tmp_path / "one")
    judged(folder, generated, "human", most=2)
    make_report(folder, "--out", tmp_path / "out", "--judge", "human")
    result = numbers(tmp_path / "out")
    assert result["questions"] == 2
    assert "not every turn of their conversations has a label" in str(result["remarks"])
    figures = result["systems"][0]["parts"][-1]["estimates"]
    assert (figures["acceptable"]["value"], figures["truthfulness"]["value"]) == (1.0, 0.5)


def test_questions_without_a_gold_answer_are_left_out_and_counted(tmp_path: Path) -> None:
    every_question = questions(6)
    every_question[0] = every_question[0].model_copy(update={"gold": "", "truth": None})
    folder = written(run(Skill("one"), every_question), tmp_path / "one")
    make_report(folder, "--out", tmp_path / "out")
    result = numbers(tmp_path / "out")
    assert result["questions"] == len(every_question) - 1
    assert "1 question is left out of one: not every turn of their conversations has a gold" in str(
        result["remarks"]
    )


def test_missing_packages_are_named(two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.commands.run.find_spec", lambda name: None)
    text = make_report(*two, "--out", tmp_path / "out", code=1)
    assert "This command needs jinja2, pandas, scipy" in text
    assert "pip install 'loreglass[evaluation-report]'" in text


def test_report_photos_are_upright_without_metadata(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "where I live"
    Image.new("RGB", (1200, 900), "#888").save(tmp_path / "p.jpg", exif=exif, comment=b"where I live")
    small = small_photo(tmp_path, "p.jpg")
    assert small is not None
    assert b"where I live" not in small
    with Image.open(io.BytesIO(small)) as opened:
        assert opened.size == (360, 480)


@pytest.mark.parametrize("name", ["", "gone.jpg", "words.jpg", "nul\x00.jpg"])
def test_a_photo_that_cannot_be_read_is_left_out(tmp_path: Path, name: str) -> None:
    (tmp_path / "words.jpg").write_bytes(b"no picture at all")
    assert small_photo(tmp_path, name) is None
