"""Fit the search router on drafts."""

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.scoring.measures import aurc, calibration_error
from gateway.steps.routing import RouterArtefact, SearchRouter
from training.config import WrongConfig, dump_config
from training.heads.search_router import (
    ARTEFACT,
    fit_router,
    held_out,
    read_drafts,
    train_search_router,
)
from training.heads.settings import SearchRouterConfig
from training.runs import SUMMARY, RunFolder
from training.samples import DraftSample, Origin, Task, part_of, write_samples


def drafts(conversations: int = 60, seed: int = 0) -> list[DraftSample]:
    """Two drafts a conversation: surer ones are rather right, and whatever speculates is wrong."""
    rng = random.Random(seed)
    made = []
    for number in range(2 * conversations):
        confidence, speculates = rng.random(), float(rng.random() < 0.2)
        features = {"self_contained": 1.0, "confidence": confidence, "quoted": 1.0, "speculates": speculates}
        features |= {name: float(rng.random() < 0.5) for name in ("number", "named")}
        session = f"c{number // 2}"
        made.append(
            DraftSample(
                id=f"{seed}-{number}",
                task=Task.DRAFT,
                part=part_of(session),
                origin=Origin(run="run", interaction_id=f"i{number}", session_id=session),
                features=features,
                right=rng.random() < confidence and not speculates,
                system="loreglass 0.1.0",
                judge="rules",
            )
        )
    return made


def written(folder: Path, made: list[DraftSample], name: str = "drafts") -> Path:
    data = folder / name
    data.mkdir(exist_ok=True)
    write_samples(data, Task.DRAFT, made)
    return data


def trained(folder: Path, *data: Path, **varied: Any) -> tuple[RunFolder, list[str]]:
    texts: list[str] = []
    config = SearchRouterConfig(head="search-router", data=data, **varied)
    run = RunFolder(folder, say=texts.append)
    run.begin(dump_config(config))
    train_search_router(config, run)
    return run, texts


def test_folds_split_by_conversation(tmp_path: Path) -> None:
    """Its own labels, turned around, change what is said of others, and nothing that is said of itself."""
    made = drafts()
    own = np.array([each.origin.session_id == "c7" for each in made])
    turned = [
        each.model_copy(update={"right": each.right != mine}) for each, mine in zip(made, own, strict=True)
    ]
    before, after = (held_out(read_drafts([written(tmp_path, each)])) for each in (made, turned))
    assert np.array_equal(before[own], after[own])
    assert not np.allclose(before[~own], after[~own], atol=1e-6)


def test_coefficients_have_one_sign(tmp_path: Path) -> None:
    made = [
        each.model_copy(  # against all sense: who is sure is wrong, who speculates is right
            update={"right": each.features["confidence"] < 0.5 or bool(each.features["speculates"])}
        )
        for each in drafts()
    ]
    fitted, _ = fit_router(read_drafts([written(tmp_path, made)]), "")
    assert fitted.coefficients["confidence"] == fitted.coefficients["speculates"] == 0
    assert set(fitted.constant) == {"self_contained", "quoted"}
    assert fitted.coefficients["self_contained"] == fitted.coefficients["quoted"] == 0


def test_artefact_describes_its_data(tmp_path: Path) -> None:
    data = [written(tmp_path, drafts(30, seed), f"run-{seed}") for seed in (1, 2)]
    run, lines = trained(tmp_path / "one", *data, date="2026-11-23")
    artefact = RouterArtefact.load(run.path / ARTEFACT)
    assert [each["sha256"] for each in artefact.fitted_on] == [
        hashlib.sha256((folder / "draft.jsonl").read_bytes()).hexdigest() for folder in data
    ]
    assert [(each["file"], each["drafts"], each["conversations"]) for each in artefact.fitted_on] == [
        ("run-1", 60, 30),
        ("run-2", 60, 30),
    ]
    assert (artefact.date, artefact.fitted_on[0]["judges"]) == ("2026-11-23", ["rules"])
    assert artefact.coefficients["confidence"] > 1
    assert artefact.coefficients["speculates"] < 0
    assert SearchRouter.load(run.path / ARTEFACT).curve == artefact.curve
    assert "own confidence" in lines[-1]
    calibration = json.loads((run.path / SUMMARY).read_text("utf-8"))["calibration"]
    assert set(calibration) == {"fitted, held out", "own confidence"}
    assert all(0 <= each["calibration_error"] <= 1 for each in calibration.values())
    again, _ = trained(tmp_path / "again", *data, date="2026-11-23")
    assert (again.path / ARTEFACT).read_bytes() == (run.path / ARTEFACT).read_bytes()
    compared, lines = trained(tmp_path / "compared", data[0], compare=run.path / ARTEFACT)
    assert "artefact" in lines[-2]
    assert not (compared.path / ARTEFACT).exists()


@pytest.mark.parametrize(
    ("some", "change", "message"),
    [
        (slice(10), {}, "right drafts; 20 are needed"),
        (slice(None), {"right": True}, "0 wrong drafts"),
        (slice(None), {"origin": Origin(run="run", interaction_id="i", session_id="c")}, "1 conversations"),
        (slice(-1, None), {"features": {"mood": 0.5}}, "interaction i119: other features"),
    ],
)
def test_unsuitable_drafts_are_refused(
    some: slice, change: dict[str, object], message: str, tmp_path: Path
) -> None:
    rows = drafts()
    changed = [each.model_copy(update=change) for each in rows[some]]
    data = written(tmp_path, [*rows[: some.start or 0], *changed])
    with pytest.raises(WrongConfig, match=message):
        trained(tmp_path / "run", data)
    assert not (tmp_path / "run" / ARTEFACT).exists()


def test_invalid_row_is_refused(tmp_path: Path) -> None:
    data = written(tmp_path, drafts())
    with (data / "draft.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"right": "yes"}\n')
    with pytest.raises(WrongConfig, match="line 121"):
        read_drafts([data])


def test_risk_and_calibration_of_four_drafts() -> None:
    """By hand: right, wrong, right, wrong from the surest on."""
    right, probabilities = np.array([1.0, 0.0, 1.0, 0.0]), np.array([0.9, 0.8, 0.7, 0.6])
    assert aurc(right, probabilities) == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert aurc(right, np.full(4, 0.5)) == 0.5
    assert calibration_error(right, probabilities) == pytest.approx((0.1 + 0.8 + 0.3 + 0.6) / 4)
    assert calibration_error(right, np.full(4, 0.5)) == 0
