"""Resuming the training of the builtin reader."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.models.tiny_bge import tiny_bge
from training.reader import fit as fitting
from training.reader.fit import Plan, fit
from training.reader.model import load_run
from training.reader.rows import Row
from training.runs import RunRefused

COLOURS = ("red", "blue", "green", "old")
ROWS = [
    Row("what colour is it ?", f"the tower is {colour} and tall .", ((13, 13 + len(colour)),), title="tower")
    for colour in COLOURS * 3
]
PLAN = Plan(epochs=2.0, batch_tokens=60, near_misses=0.5)


def interrupt_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Save every step, and raise KeyboardInterrupt at this one."""
    collate, calls = fitting.collate, iter(range(99))

    def interrupted(*arguments: Any) -> Any:
        if next(calls) == step:
            raise KeyboardInterrupt
        return collate(*arguments)

    monkeypatch.setattr(fitting, "_SAVED_EVERY_S", -1.0)
    monkeypatch.setattr(fitting, "collate", interrupted)


def test_a_resumed_run_ends_with_the_weights_of_an_uninterrupted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tiny_bge(tmp_path / "base")
    fit(ROWS, base, tmp_path / "whole", PLAN)
    with monkeypatch.context() as patch:
        interrupt_at(3, patch)
        with pytest.raises(KeyboardInterrupt):
            fit(ROWS, base, tmp_path / "run", PLAN)
    assert not (tmp_path / "run/model.pt").exists()
    fit(ROWS, base, tmp_path / "run", PLAN)
    resumed = load_run(tmp_path / "run", base).state_dict()
    for name, weights in load_run(tmp_path / "whole", base).state_dict().items():
        assert torch.equal(resumed[name], weights), name


def test_a_finished_run_is_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = tiny_bge(tmp_path / "base")
    fit(ROWS, base, tmp_path / "run", PLAN)
    interrupt_at(0, monkeypatch)
    fit(ROWS, base, tmp_path / "run", PLAN)


def test_a_run_with_other_inputs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, out = tiny_bge(tmp_path / "base"), tmp_path / "run"
    interrupt_at(1, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        fit(ROWS, base, out, PLAN)
    with pytest.raises(RunRefused, match=r"epochs \(2.0, now 1.0\).* or choose another --out"):
        fit(ROWS, base, out, replace(PLAN, epochs=1.0))
    with pytest.raises(RunRefused, match="other inputs: rows"):
        fit(ROWS[1:], base, out, PLAN)
