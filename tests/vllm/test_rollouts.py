"""A real vLLM writes rollouts as the trained model does, with the LoRA of each step."""

import importlib.util
import os
from pathlib import Path

import pytest

from tests.vllm.environment import VllmEnvironment
from tests.vllm.serving import serving

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("trl") is None,
    reason="nothing to train with; `make .venv/.training` installs it",
)


def test_vllm_output_equals_the_model(
    environment: VllmEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.training.asking import tiny_model
    from tests.training.test_served_rollouts import check_writes_as_the_model_itself

    monkeypatch.setitem(os.environ, "VLLM_ALLOW_RUNTIME_LORA_UPDATING", "True")
    weights = tiny_model(tmp_path / "tiny-vl")
    flags = ("--max-model-len", "2048", "--enable-lora", "--max-lora-rank", "8", "--enable-scale-out")
    with serving(environment, weights, *flags) as server:
        check_writes_as_the_model_itself(server.url, weights, tmp_path, within=0.03)
