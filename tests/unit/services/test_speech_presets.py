"""Presets of speech servers and their commands."""

import pytest

from services.speech.__main__ import main
from services.speech.presets import (
    CARD_GB,
    PRESETS,
    WEIGHTS,
    Preset,
    container_command,
    serve_command,
    vllm_share,
)

EVERY = pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)


@EVERY
def test_commands_use_the_presets_path_port_and_weights(preset: Preset) -> None:
    if preset.command and "whisper-server" in preset.command[0]:  # its own path is another one
        assert preset.command[preset.command.index("--inference-path") + 1] == "/v1/audio/transcriptions"
    if preset.command:
        assert preset.command[preset.command.index("--port") + 1] == str(preset.port)
    named = [word for word in preset.command if word.startswith(WEIGHTS)]
    folder = preset.repository.rpartition("/")[2]
    assert [word.split("/")[2] for word in named] == ([folder] if preset.repository else [])


def test_speech_servers_have_limits_and_log_no_texts() -> None:
    preset = PRESETS["vllm-whisper"]
    words = serve_command(preset)
    assert words[-2:] == ["--gpu-memory-utilization", f"{vllm_share(preset):g}"]
    assert preset.memory_gb <= vllm_share(preset) * CARD_GB < preset.memory_gb + 0.1
    assert words[words.index("--allowed-media-domains") + 1].endswith(".invalid")
    assert serve_command(preset, 0.2)[-1] == "0.2"
    assert "--gpu-memory-utilization" not in serve_command(PRESETS["whisper.cpp-cuda"])
    for name in ("kokoro", "kokoro-cuda"):
        assert dict(PRESETS[name].environment)["API_LOG_LEVEL"] == "WARNING"


@EVERY
@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_a_container_is_confined_and_published_to_one_address(preset: Preset, engine: str) -> None:
    line = container_command(preset, engine, "weights", "127.0.0.1", 9000)
    assert line[line.index("-p") + 1] == f"127.0.0.1:9000:{preset.port}"
    assert "--read-only" in line
    assert line[line.index("--cap-drop") + 1] == "ALL"
    assert not line[line.index("--user") + 1].startswith("0")
    assert line[line.index("--tmpfs") + 1].endswith(",exec") == preset.exec_tmp
    assert all(line[place + 1].endswith(":ro") for place, word in enumerate(line) if word == "-v")
    assert ("--gpus" in line or "--device" in line) == preset.on_card


def test_the_command_prints_the_container_and_the_settings_of_the_gateway(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["whisper.cpp", "--print", "--port", "9"])
    main(["kokoro", "--print"])
    printed = capsys.readouterr().out.splitlines()
    assert [line.removeprefix("# LOREGLASS_GATEWAY_").split()[0] for line in printed] == [
        *("STT_URL=http://127.0.0.1:9", "STT_MODEL=base.en", "docker"),
        *("TTS_URL=http://127.0.0.1:8880", "TTS_MODEL=kokoro", "TTS_VOICE=af_heart", "docker"),
    ]


def test_missing_engine_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="podman is not installed here"):
        main(["whisper.cpp", "--container", "podman"])
