"""Commands that serve a VLM."""

import json
import subprocess
import sys

import pytest

from services.vlm.__main__ import arguments, main
from services.vlm.launch import Placement, command, container_command, serve_arguments
from services.vlm.presets import DEFAULT, PRESETS, SERVED, Preset
from services.vlm.settings import ServeSettings

FP8 = "llama-3.2-11b-vision-fp8"
EVERY = pytest.mark.parametrize("preset", SERVED.values(), ids=SERVED)


@EVERY
def test_command_has_valid_json_and_no_key(preset: Preset) -> None:
    words = serve_arguments(preset, Placement())
    assert all(json.loads(word) for word in words if word.startswith("{"))
    assert "--api-key" not in words
    assert words[words.index("--host") + 1] == "127.0.0.1"
    assert json.loads(words[words.index("--limit-mm-per-prompt") + 1])["image"] == 1
    if ":v0.10.2" not in preset.image:  # vLLM 0.10.2 does not have the flag
        assert words[words.index("--allowed-media-domains") + 1].endswith(".invalid")


def test_a_container_publishes_to_the_chosen_address_only() -> None:
    placement = Placement(host="10.0.0.5", port=8001, weights="/weights/qwen")
    line = container_command(PRESETS["qwen2.5-vl-7b"], placement)
    assert "10.0.0.5:8001:8001" in line
    assert "/weights/qwen:/weights:ro" in line
    assert line[line.index("--served-model-name") + 1] == "qwen2.5-vl-7b"
    assert line[line.index("serve") + 1] == "/weights"
    assert not any(word.startswith("VLLM_API_KEY=") for word in line)


def test_arguments_after_two_dashes_are_passed_to_vllm(capsys: pytest.CaptureFixture[str]) -> None:
    main(["qwen3-vl-8b", "--print", "--port", "8002", "--", "--seed", "7"])
    assert capsys.readouterr().out.endswith("--seed 7\n")


@EVERY
def test_speed_is_derived_from_valid_sizes(preset: Preset) -> None:
    assert 0 < preset.decode_weights_gb < preset.weights_gb
    assert preset.vision_tflop > 0
    bytes_each = 1.1 if preset.fp8 else 2
    assert preset.decode_weights_gb == pytest.approx(preset.prefill_gflop / 2 * bytes_each, rel=0.08)
    assert preset.most_sequences >= preset.sequences


def test_command_line_overrides_sizes_of_the_environment() -> None:
    given = ServeSettings(preset=FP8, memory_share=0.5, max_model_len=4096, max_num_seqs=6, gpu=1)
    result = arguments(["--max-num-seqs", "4"], given)
    assert (result.preset, result.memory_share, result.max_model_len, result.gpu) == (FP8, 0.5, 4096, 1)
    assert result.max_num_seqs == 4
    other = arguments(["qwen3-vl-8b"], given)
    assert (other.memory_share, other.gpu) == (None, 1)
    assert arguments(["qwen3-vl-8b"], ServeSettings(memory_share=0.5)).memory_share == 0.5


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("PRESET", "gpt-5", "LOREGLASS_VLM_PRESET: there is no such preset; there are llama"),
        ("MEMORY_SHARE", "-0.2", "LOREGLASS_VLM_MEMORY_SHARE: Input should be greater than 0."),
        ("MAX_NUM_SEQS", "many", "LOREGLASS_VLM_MAX_NUM_SEQS: "),
    ],
)
def test_invalid_variable_is_one_sentence(
    variable: str, value: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"LOREGLASS_VLM_{variable}", value)
    with pytest.raises(SystemExit) as caught:
        main(["--print"])
    assert str(caught.value).startswith(sentence)


def test_planned_server_uses_only_its_own_gpu() -> None:
    placement = Placement(context=4096, sequences=6, memory_share=0.5, gpu=1)
    line = command(PRESETS[FP8], placement)
    assert "CUDA_VISIBLE_DEVICES=1" in line
    assert line[line.index("--max-model-len") + 1] == "4096"
    assert line[line.index("--max-num-seqs") + 1] == "6"
    assert container_command(PRESETS[FP8], placement)[3:5] == ["--gpus", "device=1"]
    assert container_command(PRESETS[FP8], placement, "podman")[3:5] == ["--device", "nvidia.com/gpu=1"]


def test_launcher_imports_only_packages_of_the_vllm_image() -> None:
    code = "import sys, services.vlm.__main__; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"chassis", "contracts", "structlog", "numpy"} & set(loaded.stdout.split())


def test_missing_vllm_is_reported_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="--container"):
        main([DEFAULT])
