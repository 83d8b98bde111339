"""Who hears and who speaks in a cluster: the components `voice` and `voice-l40s` on their overlays."""

import pytest

from deploy.inventory import APPS
from deploy.weights.catalogue import FOLDER, speech
from services.speech.launch import serve_command
from services.speech.presets import PRESETS
from tests.deploy.compose_file import SERVICES, read_env
from tests.deploy.kustomize import (
    ROOT,
    Manifests,
    composed,
    containers,
    label_selector_matches,
    labels,
    main_container,
    overlay,
    parties,
    pod,
)
from tests.deploy.network_policies import allowed
from tests.deploy.test_k8s_network import OUTSIDE, STRANGER

SERVED = {
    "voice": {"stt": "whisper.cpp", "tts": "kokoro"},
    "voice-l40s": {"stt": "whisper.cpp-cuda", "tts": "kokoro-cuda"},
}
ON = [("pocket", "voice"), ("l40s", "voice"), ("scale-out", "voice"), ("l40s", "voice-l40s")]
everywhere = pytest.mark.parametrize(("name", "component"), ON)
each_role = pytest.mark.parametrize("role", ["stt", "tts"])


def _with(name: str, component: str) -> Manifests:
    return composed(f"overlays/{name}", component)


@each_role
@everywhere
def test_a_server_runs_as_its_preset_says_and_as_in_compose(name: str, component: str, role: str) -> None:
    manifests, preset = _with(name, component), PRESETS[SERVED[component][role]]
    container = main_container(manifests.workload(role))
    assert container["image"] == preset.image
    assert container["image"] == SERVICES[role if component == "voice" else f"{role}-l40s"]["image"]
    assert [*container.get("command", []), *container.get("args", [])] == serve_command(preset)
    assert manifests.variables(role) == dict(preset.environment)
    context = pod(manifests.workload(role))["securityContext"]
    assert f"{context['runAsUser']}:{context['runAsGroup']}" == preset.user


@each_role
@everywhere
def test_a_server_is_reached_at_its_name_and_asked_for_its_health(
    name: str, component: str, role: str
) -> None:
    manifests, preset = _with(name, component), PRESETS[SERVED[component][role]]
    workload = manifests.workload(role)
    [port] = main_container(workload)["ports"]
    assert (port["name"], port["containerPort"]) == ("http", preset.port)
    service = manifests.get("Service", role)["spec"]
    assert [(each["port"], each["targetPort"]) for each in service["ports"]] == [(preset.port, "http")]
    assert service["selector"].items() <= labels(workload).items()
    budget = manifests.get("PodDisruptionBudget", role)["spec"]
    assert label_selector_matches(budget["selector"], labels(workload))
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert main_container(workload)[probe]["httpGet"] == {"path": "/health", "port": "http"}


@everywhere
def test_the_gateway_is_told_of_both(name: str, component: str) -> None:
    given, before = _with(name, component).variables("gateway"), overlay(name).variables("gateway")
    wanted: dict[str, str] = {}
    for role, preset in SERVED[component].items():
        wanted |= PRESETS[preset].told(role, f"http://{role}:{PRESETS[preset].port}")
    assert given == before | wanted
    assert not wanted.keys() & before.keys()


@everywhere
def test_only_the_gateway_reaches_them_and_they_reach_nobody(name: str, component: str) -> None:
    manifests = _with(name, component)
    policies, everybody = manifests.of_kind("NetworkPolicy"), parties(manifests)
    ports = {each.port for each in PRESETS.values()} | {22, 80, 443, *(app.port for app in APPS)}
    servers = [each for each in everybody if each.name in ("stt", "tts")]
    assert len(servers) == 2
    for server in servers:
        own = PRESETS[SERVED[component][server.name]].port
        asks = {
            (each.name, port)
            for each in (*everybody, OUTSIDE, STRANGER)
            for port in ports
            if allowed(policies, each, server, port)
        }
        assert asks == {("gateway", own)}
        reached = {
            each.name
            for each in (*everybody, OUTSIDE)
            for port in ports
            if allowed(policies, server, each, port)
        }
        assert not reached


@everywhere
def test_they_are_confined_as_all_others_are(name: str, component: str) -> None:
    for role in ("stt", "tts"):
        workload = _with(name, component).workload(role)
        spec = pod(workload)
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in containers(workload):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            assert "memory" in container["resources"]["limits"]
        assert all(each.get("emptyDir", {"sizeLimit": "1"})["sizeLimit"] for each in spec["volumes"])


def test_the_model_server_makes_room_as_the_plan_says_and_all_else_of_it_stays() -> None:
    before, after = overlay("l40s").variables("vlm"), _with("l40s", "voice-l40s").variables("vlm")
    assert after == before | read_env(ROOT / "deploy/placement/voice.env")
    assert after != before


def test_on_the_card_both_wait_for_their_weights_and_for_vllm() -> None:
    manifests = _with("l40s", "voice-l40s")
    preset = PRESETS[SERVED["voice-l40s"]["stt"]]
    weights = speech(preset)
    assert f"{FOLDER}/{weights.name}/{weights.files[0]}" in main_container(manifests.workload("stt"))["args"]
    assert manifests.variables("weights")["LOREGLASS_WEIGHTS_VOICE"] == preset.name
    for role in ("stt", "tts"):
        workload = manifests.workload(role)
        first, _ = containers(workload)
        assert 'python -m "$LOREGLASS_MODULE" --wait --only stt' in first["args"][0]
        assert "getent hosts vlm-ready" in first["args"][0]
        assert first["image"] == main_container(manifests.workload("weights"))["image"]
        assert first["env"] == [{"name": "LOREGLASS_WEIGHTS_VOICE", "value": preset.name}]
        assert workload["spec"]["strategy"] == {"type": "Recreate"}
