"""`make eval-squad`: from a file to the table, on the platform itself."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from deploy import evaluate_squad
from deploy.evaluate_squad import app, state_of_platform
from tests.unit.chassis.picture_hosts import picture
from tests.unit.evaluation.data.small_squad import write_squad

HEAVY = ("cv2", "huggingface_hub", "jinja2", "numpy", "openai", "pyarrow", "tokenizers", "tqdm")


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "120"})


@pytest.mark.slow
def test_squad_command_indexes_asks_and_prints_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file, photo = write_squad(tmp_path / "few.json"), tmp_path / "street.jpg"
    photo.write_bytes(picture())
    result = invoke(file, "--limit", "6", "--unanswerable", "2", "--photo", photo)
    assert result.exit_code == 0, result.output
    for expected in ("4 + 2", "unans. answered", "HasAns EM", "/report/report.html"):
        assert expected in result.output
    (turns_file,) = tmp_path.glob("var/eval/squad/few-*/runs/*/loreglass/turns.jsonl")
    records = [json.loads(line) for line in turns_file.read_text("utf-8").splitlines()]
    assert [each.get("error") for each in records] == [None] * 6
    cited = {piece["title"] for each in records for piece in each["answer"]["explanation"]["evidence"]}
    assert cited
    assert cited <= {"Harl, on the Senn", "Bell of Orrin"}


def test_invalid_squad_file_is_refused_before_the_start(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[]")
    result = invoke(tmp_path / "other.json")
    assert (result.exit_code, "articles" in result.output) == (2, True)


def test_command_line_does_not_import_evaluation_dependencies() -> None:
    program = f"import sys, deploy.command; print([name for name in {HEAVY} if name in sys.modules])"
    started = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert started.stdout.strip() == "[]"


def test_the_state_changes_with_a_file_and_with_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate_squad, "_ROOT", tmp_path)
    (tmp_path / "gateway").mkdir()
    (tmp_path / "gateway" / "thresholds.toml").write_text("supported = 0.5")
    states = {state_of_platform()}
    monkeypatch.setenv("LOREGLASS_GATEWAY_THRESHOLDS", "other.toml")
    states.add(state_of_platform())
    (tmp_path / "gateway" / "thresholds.toml").write_text("supported = 0.6")
    states.add(state_of_platform())
    assert len(states) == 3
    assert state_of_platform() in states
