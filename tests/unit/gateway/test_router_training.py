"""Fitting the search router on exported drafts: conversations held out whole, and a file that is loaded."""

import hashlib
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chassis.fitting import held_out
from gateway.steps.routing import SearchRouter
from gateway.steps.routing.artefact import RouterArtefact
from gateway.steps.routing.features import FEATURES
from gateway.steps.routing.train import (
    FEWEST,
    NothingToFit,
    artefact_of,
    aurc,
    calibration_error,
    main,
    problem_of,
    read,
    risks,
)


def rows(conversations: int = 60, seed: int = 0) -> list[dict[str, Any]]:
    """Two drafts a conversation: surer ones are rather right, and whatever speculates is wrong."""
    rng = random.Random(seed)
    made = []
    for number in range(2 * conversations):
        confidence, speculates = rng.random(), float(rng.random() < 0.2)
        features = {
            "self_contained": 1.0,
            "confidence": confidence,
            "quoted": 1.0,
            "number": float(rng.random() < 0.5),
            "named": float(rng.random() < 0.5),
            "speculates": speculates,
        }
        right = rng.random() < confidence and not speculates
        made.append(
            {
                "system": "loreglass 0.1.0",
                "conversation": f"c{number // 2}",
                "features": features,
                "judge": "rules",
                "right": right,
                "route": "rag",
            }
        )
    return made


def written(folder: Path, made: list[dict[str, Any]], name: str = "drafts.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
    return path


def ran(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["train", *map(str, arguments)])
    main()


def test_a_conversation_never_helps_to_judge_itself(tmp_path: Path) -> None:
    """Its own labels, turned around, change what is said of others, and nothing that is said of itself."""
    made = rows()
    turned = [{**row, "right": row["right"] != (row["conversation"] == "c7")} for row in made]
    before, after = (held_out(problem_of(read([written(tmp_path, each)]))) for each in (made, turned))
    own = np.array([row["conversation"] == "c7" for row in made])
    assert np.array_equal(before[own], after[own])
    assert not np.allclose(before[~own], after[~own], atol=1e-6)


def test_a_feature_speaks_one_way_only_and_a_constant_one_not_at_all(tmp_path: Path) -> None:
    made = rows()
    for row in made:  # against all sense: who is sure is wrong, who speculates is right
        row["right"] = row["features"]["confidence"] < 0.5 or bool(row["features"]["speculates"])
    fitted = artefact_of(read([written(tmp_path, made)]), "")
    assert fitted.coefficients["confidence"] == fitted.coefficients["speculates"] == 0
    assert set(fitted.constant) == {"self_contained", "quoted"}
    assert fitted.coefficients["self_contained"] == fitted.coefficients["quoted"] == 0


def test_the_artefact_says_what_it_was_fitted_on_and_is_loaded_by_the_gateway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [written(tmp_path, rows(30, seed), f"run-{seed}.jsonl") for seed in (1, 2)]
    out = tmp_path / "router.json"
    ran(monkeypatch, *files, "--out", out, "--date", "2026-11-23")
    artefact = RouterArtefact.load(out)
    assert [each.sha256 for each in artefact.fitted_on] == [
        hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    ]
    assert [(each.file, each.drafts, each.conversations) for each in artefact.fitted_on] == [
        ("run-1.jsonl", 60, 30),
        ("run-2.jsonl", 60, 30),
    ]
    assert (artefact.date, artefact.fitted_on[0].judges) == ("2026-11-23", ["rules"])
    assert artefact.coefficients["confidence"] > 1
    assert artefact.coefficients["speculates"] < 0
    assert SearchRouter.load(out).curve == artefact.curve
    assert "own confidence" in capsys.readouterr().out
    again = tmp_path / "again.json"
    ran(monkeypatch, *files, "--out", again, "--date", "2026-11-23")
    assert again.read_bytes() == out.read_bytes()
    ran(monkeypatch, files[0], "--compare", out)
    assert "artefact" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda made: made[:10], "right drafts; 20 are needed"),
        (lambda made: [{**row, "right": True} for row in made], "0 wrong drafts"),
        (lambda made: [{**row, "conversation": "c"} for row in made], "1 conversations"),
        (lambda made: [*made, {**made[0], "features": {"confidence": 0.5}}], "line 121: other features"),
        (lambda made: [*made, {**made[0], "right": "yes"}], "line 121: right"),
    ],
    ids=["few", "one kind", "one conversation", "features", "label"],
)
def test_rows_that_teach_nothing_are_refused_in_words(
    change: Any, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NothingToFit, match=told):
        problem_of(read([written(tmp_path, change(rows()))]))
    with pytest.raises(SystemExit) as ended:
        ran(monkeypatch, tmp_path / "drafts.jsonl", "--out", tmp_path / "router.json")
    assert told in str(ended.value)
    assert not (tmp_path / "router.json").exists()


def test_there_are_enough_rows_for_every_feature() -> None:
    assert 3 * len(FEATURES) < FEWEST


def test_risk_and_coverage_of_four_drafts() -> None:
    """By hand: right, wrong, right, wrong from the surest on."""
    right, said = np.array([1.0, 0.0, 1.0, 0.0]), np.array([0.9, 0.8, 0.7, 0.6])
    assert risks(right, said) == pytest.approx([0, 1 / 2, 1 / 3, 1 / 2])
    assert aurc(right, said) == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert risks(right, np.full(4, 0.5)) == pytest.approx([0.5] * 4)
    assert calibration_error(right, said) == pytest.approx((0.1 + 0.8 + 0.3 + 0.6) / 4)
    assert calibration_error(right, np.full(4, 0.5)) == 0
