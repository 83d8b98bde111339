"""`loreglass eval calibrate`, from run folders to its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from evaluation.calibration.replay import OF_JUDGE
from evaluation.commands.calibrate import calibrate, promise_file
from gateway.thresholds import PACKAGED, load_thresholds
from tests.unit.evaluation.generated_runs import OPEN, THRESHOLDS, questions, write_run

app = typer.Typer()
app.command()(calibrate)


def calibrate(*arguments: object) -> Result:
    options = [str(argument) for argument in arguments]
    return CliRunner().invoke(app, [*options, "--base", str(PACKAGED)], env={"COLUMNS": "200"})


def made(folder: Path, seed: int, count: int = 80, **changes: Any) -> Path:
    """A run of single questions in which nothing was refused."""
    header = {"pipeline": "loreglass", "dataset": f"made/\x1b[31m{seed}", "fingerprint": f"print-{seed}-"}
    return write_run(folder, questions(count, seed), **{"overrides": OPEN, **header, **changes})


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("runs") / "dev", seed=1)


def test_gateway_loads_thresholds_checked_on_held_out_questions(dev: Path, tmp_path: Path) -> None:
    out, test = tmp_path / "thresholds.toml", made(tmp_path / "test", seed=2, count=50)
    result = calibrate(dev, "--out", out, "--check", test)
    assert result.exit_code == 0, result.output
    loaded, packaged = load_thresholds(out), load_thresholds(PACKAGED)
    assert loaded.version == packaged.version + 1
    assert loaded.answer_confidence != packaged.answer_confidence
    assert loaded.same_thing == packaged.same_thing
    assert "\x1b" not in out.read_text("utf-8")
    assert "\x1b[31m" not in result.output
    promise = json.loads(promise_file(out).read_text("utf-8"))
    assert promise["after"]["truthfulness"] >= promise["expected"]["truthfulness"]
    assert promise["after"]["truthfulness"] > promise["before"]["truthfulness"]
    assert promise["thresholds"].keys() == THRESHOLDS.keys() | set(OF_JUDGE)
    assert {True: "Kept", False: "Broken", None: "Undecided"}[promise["check"]["holds"]] in result.output
    assert promise["check"]["after"]["questions"] == 50


def test_thresholds_keep_and_report_a_risk_ceiling(tmp_path: Path) -> None:
    dev, out = made(tmp_path / "dev", seed=3, count=110), tmp_path / "thresholds.toml"
    result = calibrate(dev, "--out", out, "--ceiling", 0.1)
    assert result.exit_code == 0, result.output
    promise = json.loads(promise_file(out).read_text("utf-8"))
    assert promise["after"]["hallucination"] <= 0.1
    assert "(conformal risk control)." in out.read_text("utf-8").replace("\n# ", " ")


def test_existing_file_needs_overwrite(dev: Path, tmp_path: Path) -> None:
    out = tmp_path / "thresholds.toml"
    out.write_text("mine", encoding="utf-8")
    assert calibrate(dev, "--out", out).exit_code == 1
    assert out.read_text("utf-8") == "mine"
    assert calibrate(dev, "--out", out, "--overwrite").exit_code == 0
    assert load_thresholds(out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ceiling", "0.001"], "at least 999 conversations"),
        (["--ceiling", "1.5"], "between 0 and 1"),
        (["--judge", "human"], "withheld"),
    ],
)
def test_invalid_options_are_refused(dev: Path, tmp_path: Path, options: list[str], message: str) -> None:
    out = tmp_path / "thresholds.toml"
    result = calibrate(dev, "--out", out, *options)
    assert result.exit_code == 1
    assert message in result.output
    assert not out.exists()


def test_unsuitable_runs_are_refused(dev: Path, tmp_path: Path) -> None:
    out = tmp_path / "thresholds.toml"
    silent = made(tmp_path / "silent", seed=4, count=6, explained=False)
    assert "without an explanation" in calibrate(silent, "--out", out).output
    other = made(tmp_path / "other", seed=5, count=6, pipeline="qa-dragon")
    assert "loreglass and qa-dragon" in calibrate(dev, other, "--out", out).output
    again = made(tmp_path / "again", seed=1, count=6)
    assert "The same question" in calibrate(dev, again, "--out", out).output
    assert "were chosen on" in calibrate(dev, "--out", out, "--check", again).output
    elsewhere = made(tmp_path / "elsewhere", seed=6, count=6, overrides={"tau_fine": 0.4})
    assert "tau_fine=0.5" in calibrate(dev, "--out", out, "--check", elsewhere).output
    assert not out.exists()
