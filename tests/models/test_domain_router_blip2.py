"""The BLIP-2 domain router on tiny weights: training, parity and HTTP."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file
from safetensors.torch import save_file as torch_file

from chassis.accelerator import Accelerator
from chassis.http.app import EngineResources
from chassis.models.pretrained import WrongWeights
from chassis.telemetry.metrics import Metrics
from contracts.domain_router import Domain
from services.domain_router.app import open_engine
from services.domain_router.engines.blip2 import FORMAT, Blip2DomainRouter, DomainHead, load_blip2
from services.domain_router.settings import DomainRouterSettings, Engine
from tests.models.conftest import Parity
from tests.models.tiny_blip2 import direct_states, with_other_queries
from tests.models.tiny_domain import coloured, read_summary, trained, write_domains
from training.config import WrongConfig
from training.heads.domain_router import CHECKPOINT, train_domain_router
from training.heads.settings import DomainRouterConfig
from training.runs import LEFT_OUT, RunFolder

LABELS = [domain.value for domain in Domain]
CPU = Accelerator("cpu", "float32")
PAIRS = [
    ("What is this?", coloured(3, 900)),
    ("Who built the red tower, and was it built by Ada as well?", coloured(8, 901)),
    ("yes", coloured(11, 902)),
]


@pytest.fixture(scope="session")
def config(blip2: Path, tmp_path_factory: pytest.TempPathFactory) -> DomainRouterConfig:
    data = write_domains(tmp_path_factory.mktemp("domains"), each=20)
    return DomainRouterConfig(head="domain-router", data=(data,), model=str(blip2), device="cpu")


@pytest.fixture(scope="session")
def run(config: DomainRouterConfig, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return trained(train_domain_router, config, tmp_path_factory.mktemp("domain-head") / "run")


@pytest.fixture(scope="session")
def head(run: RunFolder) -> Path:
    return run.path / CHECKPOINT


@pytest.fixture(scope="session")
def engine(head: Path) -> Blip2DomainRouter:
    return opened(head)


def opened(head: Path, model: str = "") -> Blip2DomainRouter:
    qformer, loaded = load_blip2(head, LABELS, model, CPU)
    return Blip2DomainRouter(qformer.encode_questions, loaded)


def direct(base: Path, head: Path, question: str, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Probabilities by transformers and matrix products alone."""
    tensors = load_file(head)
    with safe_open(head, framework="pt") as stored:
        temperature = json.loads(stored.metadata()["loreglass-domain-head"])["temperature"]
    logits = tensors["weight"] @ direct_states(base, question, pixels).mean(dim=0) + tensors["bias"]
    return np.asarray((logits / temperature).softmax(dim=0).numpy(), np.float64)


def test_engine_equals_blip2_and_a_matrix_product(
    blip2: Path, head: Path, engine: Blip2DomainRouter, parity: Parity
) -> None:
    """Only the question and the pixels count: the router ignores the text in the photo."""
    differences = [
        np.abs(
            np.array(engine.classify(question, "the red tower", pixels))
            - direct(blip2, head, question, pixels)
        ).max()
        for question, pixels in PAIRS
    ]
    parity("domain_router: BLIP-2 + head", "Blip2ForImageTextRetrieval, matmul", max(differences))


def test_training_learns_and_stops_early(run: RunFolder, config: DomainRouterConfig) -> None:
    summary = read_summary(run)
    assert summary["held_out"]["macro_f1"] > 0.8
    losses = [line["loss"] for line in run.metrics()]
    assert losses[-1] < losses[0]
    scores, patience = [line["validation/macro_f1"] for line in run.metrics()], config.recipe.patience
    assert patience < len(scores) < config.recipe.epochs
    assert max(scores[-patience:]) <= max(scores[:-patience])
    assert summary["chosen"]["score"] == max(scores)


@pytest.mark.parametrize("last", [1, 3])
def test_interrupted_run_gives_the_same_head(
    config: DomainRouterConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    recipe = config.recipe.model_copy(update={"epochs": 5, "learning_rate": 3e-2})
    few = {"data": (write_domains(tmp_path / "few", each=8),), "tune_qformer": True, "tuned_rate": 2e-3}
    tuning = config.model_copy(update={**few, "recipe": recipe})
    whole = trained(train_domain_router, tuning, tmp_path / "whole")
    log = RunFolder.log

    def until_the_last(self: RunFolder, step: int, numbers: Any) -> None:
        log(self, step, numbers)
        if step == last:
            raise SystemExit("the power failed")

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "log", until_the_last)
        with pytest.raises(SystemExit):
            trained(train_domain_router, tuning, tmp_path / "broken")
    broken = trained(train_domain_router, tuning, tmp_path / "broken")
    assert (broken.path / CHECKPOINT).read_bytes() == (whole.path / CHECKPOINT).read_bytes()
    assert [line["step"] for line in broken.metrics()] == [1, 2, 3, 4, 5]


def test_a_tuned_q_former_is_served_with_its_head(
    config: DomainRouterConfig, blip2: Path, tmp_path: Path
) -> None:
    recipe = config.recipe.model_copy(update={"learning_rate": 3e-2, "epochs": 7})
    tuning = config.model_copy(update={"tune_qformer": True, "tuned_rate": 2e-3, "recipe": recipe})
    run = trained(train_domain_router, tuning, tmp_path / "tuned")
    loaded = DomainHead.load(run.path / CHECKPOINT, LABELS)
    assert {name.split(".")[0] for name in loaded.tuned} == {"qformer", "embeddings", "query_tokens"}
    assert read_summary(run)["held_out"]["macro_f1"] > 0.8
    opened(run.path / CHECKPOINT)
    replace(loaded, tuned={}).save(tmp_path / "untuned.safetensors")
    with pytest.raises(WrongWeights, match="not trained on this base model"):
        opened(tmp_path / "untuned.safetensors", str(blip2))


def test_bad_rows_are_reported_and_skipped(config: DomainRouterConfig, tmp_path: Path) -> None:
    data = write_domains(tmp_path / "data", each=8)
    with (data / "domain.jsonl").open("a", encoding="utf-8") as file:
        file.write("no json\n")
    (data / "photos" / "0-0.png").unlink()
    recipe = config.recipe.model_copy(update={"epochs": 1})
    run = trained(
        train_domain_router, config.model_copy(update={"data": (data,), "recipe": recipe}), tmp_path / "run"
    )
    left_out = [json.loads(line) for line in (run.path / LEFT_OUT).read_text("utf-8").splitlines()]
    assert [each["where"] for each in left_out] == ["domain.jsonl, line 1", "domain.jsonl, line 105"]
    assert "photos/0-0.png is missing" in left_out[0]["why"]


def test_too_few_samples_are_refused(config: DomainRouterConfig, tmp_path: Path) -> None:
    data = write_domains(tmp_path / "few", each=1)
    (data / "domain.jsonl").write_text((data / "domain.jsonl").read_text("utf-8").splitlines()[0] + "\n")
    with pytest.raises(WrongConfig, match="too few"):
        trained(train_domain_router, config.model_copy(update={"data": (data,)}), tmp_path / "run")


def _damaged(folder: Path, name: str, head: DomainHead) -> Path:
    path = folder / f"{name}.safetensors"
    match name:
        case "extra":
            replace(head, tuned={"qformer.extra": head.bias}).save(path)
        case "temperature":
            replace(head, temperature=0.0).save(path)
        case "bias":
            replace(head, bias=head.bias + np.nan).save(path)
        case "half":
            torch_file({"weight": torch.zeros(2, dtype=torch.bfloat16)}, path, {FORMAT: "{}"})
        case "text":
            path.write_text("not a checkpoint")
    return path


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("extra", r"tuned 'qformer\.extra'"),
        ("temperature", "is damaged"),
        ("bias", "is damaged"),
        ("half", "not of float32"),
        ("text", "cannot be read"),
        ("absent", "cannot be read"),
    ],
)
def test_a_damaged_head_is_refused(head: Path, tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(WrongWeights, match=reason):
        opened(_damaged(tmp_path, name, DomainHead.load(head, LABELS)))


def test_a_head_for_something_else_is_refused(head: Path, blip2: Path, tmp_path: Path) -> None:
    with pytest.raises(WrongWeights, match="trained for other labels: animal, book"):
        load_blip2(head, [LABELS[1], LABELS[0], *LABELS[2:]], "", CPU)
    with pytest.raises(WrongWeights, match="not trained on this base model"):
        opened(head, str(with_other_queries(blip2, tmp_path / "other")))
    with pytest.raises(WrongWeights, match="is no loreglass-domain-head"):
        opened(blip2 / "model.safetensors")
    with pytest.raises(ValueError, match="needs head"):
        open_engine(DomainRouterSettings(engine=Engine.BLIP2), EngineResources(Metrics("domain_router")))
