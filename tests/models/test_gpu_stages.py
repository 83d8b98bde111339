"""The bench of the model engines: it refuses where it cannot measure, and runs whole on tiny models."""

import weakref
from pathlib import Path

import pytest
import torch

from chassis.accelerator import Accelerator
from deploy.gpu_stages.__main__ import NAMES, main
from deploy.gpu_stages.engines import SERVICE_ENGINES
from deploy.gpu_stages.measuring import Effort, measure
from deploy.gpu_stages.stages import Stage
from deploy.gpu_stages.vlm import VLM

CPU = Accelerator("cpu", "float32")

pytestmark = pytest.mark.filterwarnings("ignore:`hidden_state` is deprecated:FutureWarning")
"""transformers calls its own Mllama layers by the old name."""


def test_without_a_gpu_it_says_so_in_a_sentence_and_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    assert main([]) == 2
    said = capsys.readouterr().err
    assert "no CUDA GPU" in said
    assert said.count("\n") == 1


def test_published_sizes_are_refused_on_the_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--device", "cpu"]) == 2
    assert "--tiny" in capsys.readouterr().err


def test_tiny_models_run_through_every_stage_on_the_cpu(tmp_path: Path) -> None:
    output = tmp_path / "stages.md"
    assert (
        main(["--device", "cpu", "--tiny", "--warm-ups", "0", "--repeats", "1", "--output", str(output)]) == 0
    )
    page = output.read_text("utf-8")
    assert "Left out" not in page.replace("- clip: open_clip does not import here", "")
    for stage in (
        "bge-large",
        "Grounding-DINO",
        "domain_router",
        "coarse",
        "fine",
        "MiniLM",
        "RoBERTa",
        "Llama",
    ):
        assert stage in page
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| ")][1:]
    assert all(float(row[3]) > 0 for row in rows)
    assert "| 125 |" in page


def test_a_measured_model_is_let_go_before_the_next_one_is_opened() -> None:
    class Model:
        def work(self, count: int) -> object:
            return count

    model = Model()
    held = weakref.ref(model)
    rows = measure(Stage("model", "item", {1: "", 2: ""}, model.work), CPU, Effort(0, 1))
    del model
    assert len(rows) == 2
    assert held() is None


def test_engines_can_be_chosen_by_name() -> None:
    assert [engine.name for engine in (*SERVICE_ENGINES, VLM)] == list(NAMES)
