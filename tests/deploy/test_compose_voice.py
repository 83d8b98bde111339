"""Who hears and who speaks in docker-compose.yml: presets, the plan, and what a gateway is told."""

import pytest

from deploy.inventory import APPS
from deploy.weights.catalogue import FOLDER, speech
from deploy.weights.settings import WeightsSettings
from services.speech.launch import serve_command
from services.speech.presets import PRESETS, Preset
from tests.deploy.compose_file import ROOT, SERVICES, Service, environment_of, load, networks_of, read_env

ADDED: dict[str, Service] = load("deploy/compose/voice.yml")["services"]
SERVED = {"stt": "whisper.cpp", "tts": "kokoro", "stt-l40s": "whisper.cpp-cuda", "tts-l40s": "kokoro-cuda"}
each_server = pytest.mark.parametrize(
    ("name", "preset"), [(name, PRESETS[each]) for name, each in SERVED.items()]
)
each_gateway = pytest.mark.parametrize(("gateway", "twin"), [("gateway", ""), ("gateway-l40s", "-l40s")])


@each_server
def test_a_server_runs_as_its_preset_says(name: str, preset: Preset) -> None:
    service = SERVICES[name]
    assert service["image"] == preset.image
    assert service["user"] == preset.user
    assert [*service.get("entrypoint", []), *service.get("command", [])] == serve_command(preset)
    assert dict(preset.environment).items() <= environment_of(service).items()
    assert ("exec" in service["tmpfs"][0]) == preset.exec_tmp
    assert any(f"127.0.0.1:{preset.port}/health" in word for word in service["healthcheck"]["test"])


@each_server
def test_a_twin_answers_to_the_servers_name_and_reaches_nobody_but_the_gateway(
    name: str, preset: Preset
) -> None:
    role = name.removesuffix("-l40s")
    assert networks_of(SERVICES[name]) == {"speech": [] if role == name else [role]}
    assert "ports" not in SERVICES[name]


@each_gateway
def test_the_gateway_is_told_of_both_and_can_reach_them(gateway: str, twin: str) -> None:
    told = environment_of(ADDED[gateway])
    wanted = {}
    for role in ("stt", "tts"):
        preset = PRESETS[SERVED[role + twin]]
        wanted |= preset.told(role, f"http://{role}:{preset.port}")
    assert told == wanted
    before = networks_of(SERVICES[gateway])
    assert networks_of(ADDED[gateway]) == before | {"speech": []}


@each_gateway
def test_what_the_gateway_is_told_are_settings_of_its(gateway: str, twin: str) -> None:
    fields = APPS[0].settings.model_fields
    told = {name.removeprefix(APPS[0].prefix).lower() for name in ADDED[gateway]["environment"]}
    assert told <= set(fields)


def test_without_the_file_no_gateway_knows_of_a_voice() -> None:
    for name in ("gateway", "gateway-l40s"):
        assert "speech" not in networks_of(SERVICES[name])
        assert not [key for key in environment_of(SERVICES[name]) if "_STT_" in key or "_TTS_" in key]


def test_vllm_makes_room_on_the_card_as_the_plan_says() -> None:
    assert ADDED["vlm"]["env_file"] == [*SERVICES["vlm"]["env_file"], "deploy/placement/voice.env"]
    assert set(read_env(ROOT / "deploy/placement/voice.env")) <= set(environment_of(SERVICES["vlm"]))


def test_whispers_weights_are_fetched_to_where_it_reads_them() -> None:
    (told,) = ADDED["weights"]["environment"].items()
    preset = PRESETS[SERVED["stt-l40s"]]
    assert told == ("LOREGLASS_WEIGHTS_VOICE", preset.name)
    assert "voice" in WeightsSettings.model_fields
    weights = speech(preset)
    assert f"{FOLDER}/{weights.name}/{weights.files[0]}" in SERVICES["stt-l40s"]["command"]


def test_the_file_changes_nothing_else() -> None:
    assert set(ADDED) == {"gateway", "gateway-l40s", "vlm", "weights"}
    changed = {key for each in ADDED.values() for key in each}
    assert changed == {"networks", "environment", "env_file"}
