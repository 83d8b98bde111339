"""Commands that serve a VLM, and waiting until it answers."""

import json
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

from services.vlm.__main__ import arguments, main
from services.vlm.launch import Placement, command, container_command, serve_arguments, table
from services.vlm.presets import DEFAULT, PRESETS, Preset
from services.vlm.settings import ServeSettings
from services.vlm.wait import Finding, State, look, wait

FP8 = "llama-3.2-11b-vision-fp8"
EVERY = pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)


@EVERY
def test_json_flags_are_json_and_no_key_is_on_the_command_line(preset: Preset) -> None:
    words = serve_arguments(preset, Placement())
    assert all(json.loads(word) for word in words if word.startswith("{"))
    assert "--api-key" not in words
    assert words[words.index("--host") + 1] == "127.0.0.1"
    assert json.loads(words[words.index("--limit-mm-per-prompt") + 1])["image"] == 1


@EVERY
def test_a_command_sets_variables_and_serves(preset: Preset) -> None:
    line = command(preset, Placement(extra=("--chat-template", "a b.jinja")))
    assert line.count("env") == 1
    assert line[line.index("vllm") + 1] == "serve"


def test_current_presets_never_fetch_an_image() -> None:
    for preset in PRESETS.values():
        if preset.version != "0.10.2":
            assert preset.flags[preset.flags.index("--allowed-media-domains") + 1].endswith(".invalid")
        else:
            assert any("CVE-2025-6242" in limit for limit in preset.limits)


def test_weights_and_share_can_be_one_s_own() -> None:
    words = serve_arguments(PRESETS[DEFAULT], Placement(weights="/weights/llama", memory_share=0.4))
    assert words[0] == "/weights/llama"
    assert words[words.index("--gpu-memory-utilization") + 1] == "0.4"
    assert words[words.index("--served-model-name") + 1] == DEFAULT


def test_a_container_publishes_to_the_chosen_address_only() -> None:
    placement = Placement(host="10.0.0.5", port=8001, weights="/weights/qwen")
    line = container_command(PRESETS["qwen2.5-vl-7b"], placement)
    assert "10.0.0.5:8001:8001" in line
    assert "/weights/qwen:/weights:ro" in line
    assert line[line.index("serve") + 1] == "/weights"
    assert not any(word.startswith("VLLM_API_KEY=") for word in line)


def test_the_command_line_prints_lists_and_explains(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--list"])
    assert capsys.readouterr().out.strip() == table(list(PRESETS.values()))
    main(["qwen3-vl-8b", "--print", "--port", "8002", "--", "--seed", "7"])
    assert capsys.readouterr().out.endswith("--seed 7\n")
    main(["--explain"])
    assert "limit:" in capsys.readouterr().out


@EVERY
def test_speed_follows_from_sizes_that_can_be(preset: Preset) -> None:
    assert 0 < preset.decode_weights_gb < preset.weights_gb
    assert preset.vision_tflop > 0
    bytes_each = 1.1 if preset.fp8 else 2
    assert preset.decode_weights_gb == pytest.approx(preset.prefill_gflop / 2 * bytes_each, rel=0.08)
    assert preset.most_sequences >= preset.sequences


def test_sizes_come_from_the_environment_and_the_command_line_wins() -> None:
    given = ServeSettings(preset=FP8, memory_share=0.5, max_model_len=4096, max_num_seqs=6, gpu=1)
    found = arguments(["--max-num-seqs", "4"], given)
    assert (found.preset, found.memory_share, found.max_model_len, found.gpu) == (FP8, 0.5, 4096, 1)
    assert found.max_num_seqs == 4


def test_sizes_for_one_preset_are_not_used_for_another() -> None:
    given = ServeSettings(preset=FP8, memory_share=0.5, max_num_seqs=6)
    assert arguments(["qwen3-vl-8b"], given).memory_share is None
    assert arguments(["qwen3-vl-8b"], ServeSettings(preset=FP8, memory_share=0.5, gpu=1)).gpu == 1
    assert arguments(["qwen3-vl-8b"], ServeSettings(memory_share=0.5)).memory_share == 0.5


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("PRESET", "gpt-5", "LOREGLASS_VLM_PRESET: there is no such preset; there are llama"),
        ("MEMORY_SHARE", "-0.2", "LOREGLASS_VLM_MEMORY_SHARE: Input should be greater than 0."),
        ("MAX_NUM_SEQS", "many", "LOREGLASS_VLM_MAX_NUM_SEQS: "),
    ],
)
def test_a_wrong_variable_is_one_sentence(
    variable: str, value: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"LOREGLASS_VLM_{variable}", value)
    with pytest.raises(SystemExit) as caught:
        main(["--print"])
    assert str(caught.value).startswith(sentence)


def test_a_planned_server_sees_its_own_card_only() -> None:
    placement = Placement(context=4096, sequences=6, memory_share=0.5, gpu=1)
    line = command(PRESETS[FP8], placement)
    assert "CUDA_VISIBLE_DEVICES=1" in line
    assert line[line.index("--max-model-len") + 1] == "4096"
    assert line[line.index("--max-num-seqs") + 1] == "6"
    assert container_command(PRESETS[FP8], placement)[3:5] == ["--gpus", "device=1"]
    assert container_command(PRESETS[FP8], placement, "podman")[3:5] == ["--device", "nvidia.com/gpu=1"]


@pytest.mark.parametrize(
    "line",
    [
        "no-such-preset", "--memory-share 0", "--memory-share 2", "--memory-share much", "--max-num-seqs 0",
        "--gpu x", "--gpu -1", "--max-model-len 1.5", "--port 65536",
    ],
)  # fmt: skip
def test_invalid_arguments_are_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        arguments(line.split())
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert "usage" in said
    assert "invalid _" not in said


def test_it_needs_nothing_that_vllm_s_image_lacks() -> None:
    code = "import sys, services.vlm.__main__, services.vlm.wait; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"chassis", "contracts", "structlog", "numpy"} & set(loaded.stdout.split())


def server(
    *, health: int = 200, models: object = None, chat: object = None, status: int = 200
) -> httpx.Client:
    """A client of a server in one of its states."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/health":
            return httpx.Response(health)
        if request.url.path == "/v1/models":
            return httpx.Response(status, json=models or {"data": [{"id": "tiny"}]})
        assert json.loads(request.content)["max_tokens"] == 1
        return httpx.Response(200, json=chat or {"usage": {"completion_tokens": 1}})

    return httpx.Client(base_url="http://vlm", transport=httpx.MockTransport(answer))


@pytest.mark.parametrize(
    ("http", "model", "state"),
    [
        (server(), "", State.ANSWERS),
        (server(), "tiny", State.ANSWERS),
        (server(), "large", State.REFUSES),
        (server(status=401), "", State.REFUSES),
        (server(health=503), "", State.LOADING),
        (server(models={"data": []}), "", State.LOADING),
        (server(status=500), "", State.LOADING),
        (server(models=["odd"]), "", State.LOADING),
        (server(chat={"odd": 1}), "", State.LOADING),
    ],
)
def test_a_look_tells_the_states_apart(http: httpx.Client, model: str, state: State) -> None:
    with http:
        assert look(http, model).state is state


def test_nobody_listening_is_a_state_too() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with httpx.Client(base_url="http://vlm", transport=httpx.MockTransport(refuse)) as http:
        assert look(http, "").state is State.AWAY


@pytest.mark.parametrize(
    ("states", "code"),
    [
        ([State.AWAY, State.LOADING, State.ANSWERS], 0),
        ([State.AWAY, State.REFUSES, State.ANSWERS], 2),
        ([State.LOADING] * 9, 1),
    ],
)
def test_the_gate_opens_gives_up_or_stays_shut(states: list[State], code: int) -> None:
    now = [0.0]
    found: Iterator[State] = iter(states)
    said: list[str] = []

    def pause(seconds: float) -> None:
        now[0] += seconds

    assert wait(lambda: Finding(next(found)), 10, said.append, lambda: now[0], pause) == code
    assert now[0] <= 10
    assert all(line.strip() for line in said)


def test_without_vllm_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="--container"):
        main([DEFAULT])
