"""`make eval-squad`: from a file to the table, on the platform itself."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from deploy.evaluate_squad import app
from tests.unit.chassis.picture_hosts import picture
from tests.unit.evaluation.data.small_squad import write_squad


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "120"})


@pytest.mark.slow
def test_one_command_indexes_asks_and_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file, photo = write_squad(tmp_path / "few.json"), tmp_path / "street.jpg"
    photo.write_bytes(picture())
    result = invoke(file, "--limit", "6", "--unanswerable", "2", "--photo", photo)
    assert result.exit_code == 0, result.output
    for expected in ("4 + 2", "unans. answered", "HasAns EM", "var/eval/squad/few/report/report.html"):
        assert expected in result.output
    (kept,) = tmp_path.glob("var/eval/squad/few/runs/*/loreglass/turns.jsonl")
    records = [json.loads(line) for line in kept.read_text("utf-8").splitlines()]
    assert [each.get("error") for each in records] == [None] * 6
    cited = {piece["title"] for each in records for piece in each["answer"]["explanation"]["evidence"]}
    assert cited
    assert cited <= {"Harl, on the Senn", "Bell of Orrin"}


def test_a_file_that_is_none_is_refused_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[]")
    result = invoke(tmp_path / "other.json")
    assert (result.exit_code, "articles" in result.output) == (2, True)
