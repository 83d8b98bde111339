"""`make eval`: what is measured again, and what is not; and `loreglass eval`, which slows no other down."""

import subprocess
import sys
from pathlib import Path

import pytest

from deploy import evaluate
from deploy.evaluate import set_aside, state_of_platform

HEAVY = ("cv2", "huggingface_hub", "jinja2", "matplotlib", "numpy", "openai", "pyarrow", "tokenizers", "tqdm")


def test_the_command_line_starts_without_what_only_evaluations_need() -> None:
    told = f"import sys, deploy.command; print([name for name in {HEAVY} if name in sys.modules])"
    started = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert started.stdout.strip() == "[]"


def test_runs_of_the_same_code_go_on(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    assert not set_aside(runs, "now")
    (runs / "loreglass").mkdir()
    assert not set_aside(runs, "now")
    assert (runs / "loreglass").is_dir()


def test_runs_of_other_code_are_set_aside(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for state in ("first", "second", "third"):
        set_aside(runs, state)
        (runs / state).mkdir()
    assert {path.name for path in runs.iterdir()} == {"state", "third"}
    assert {path.name for path in (tmp_path / "runs-before").iterdir()} == {"state", "second"}


def test_the_state_changes_with_a_file_and_with_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "_ROOT", tmp_path)
    (tmp_path / "gateway").mkdir()
    (tmp_path / "gateway" / "thresholds.toml").write_text("supported = 0.5")
    states = {state_of_platform()}
    monkeypatch.setenv("LOREGLASS_GATEWAY_THRESHOLDS", "other.toml")
    states.add(state_of_platform())
    (tmp_path / "gateway" / "thresholds.toml").write_text("supported = 0.6")
    states.add(state_of_platform())
    assert len(states) == 3
    assert state_of_platform() in states
