"""Compose and Kubernetes run the model servers as the placement plan and the presets say."""

import re
import shlex
import string
from collections.abc import Mapping, Sequence

import pytest

from capacity.environment import environment
from capacity.node_file import read
from capacity.proposal import propose
from deploy.inventory import APPS, VLM_HOST, VLM_PORT
from deploy.weights.__main__ import FOLDER, vlm
from gateway.settings import GatewaySettings
from services.speech.presets import PRESETS as SPEECH_PRESETS
from services.speech.presets import serve_command
from services.vlm.launch import Placement, serve_arguments
from services.vlm.presets import PRESETS
from services.vlm.settings import ServeSettings
from tests.deploy.compose_file import ROOT, SERVICES, environment_of, read_env
from tests.deploy.kustomize import Manifests, composed, main_container, overlay

WEIGHTS = read_env(ROOT / "deploy" / "weights" / "weights.env")
VOICES = {"stt": "whisper.cpp", "tts": "kokoro", "stt-l40s": "whisper.cpp-cuda", "tts-l40s": "kokoro-cuda"}
NO_HEAD = "LOREGLASS_DOMAIN_ROUTER_ENGINE"
"""The manifests keep the built-in router until an operator has trained a head."""


def given_to(words: Sequence[str], given: Mapping[str, str]) -> None:
    """Check that these are vLLM's arguments for the preset and the sizes in the environment."""
    sizes = ServeSettings.model_validate(
        {
            name: given[key]
            for name in ServeSettings.model_fields
            if (key := f"LOREGLASS_VLM_{name.upper()}") in given
        }
    )
    preset = PRESETS[sizes.preset]
    placement = Placement(
        host="0.0.0.0",
        port=VLM_PORT,
        weights=f"{FOLDER}/{vlm(preset.name).name}",
        memory_share=sizes.memory_share,
        context=sizes.max_model_len,
        sequences=sizes.max_num_seqs,
    )
    assert list(words) == serve_arguments(preset, placement)
    assert dict(preset.environment).items() <= given.items()


def test_compose_starts_vllm_with_its_preset() -> None:
    service, given = SERVICES["vlm"], environment_of(SERVICES["vlm"])
    line = shlex.split(string.Template(service["command"][0]).substitute(given))
    assert line[:3] == ["exec", "vllm", "serve"]
    given_to(line[3:], given)
    assert service["image"] == PRESETS[given["LOREGLASS_VLM_PRESET"]].image


@pytest.mark.parametrize("parts", [("l40s",), ("l40s", "qwen"), ("scale-out",)], ids=" ".join)
def test_kubernetes_starts_vllm_with_its_preset(parts: tuple[str, ...]) -> None:
    manifests = composed(f"overlays/{parts[0]}", *parts[1:])
    container, given = main_container(manifests.workload(VLM_HOST)), manifests.variables(VLM_HOST)
    assert container["command"] == ["vllm", "serve"]
    given_to([re.sub(r"\$\((\w+)\)", lambda name: given[name[1]], word) for word in container["args"]], given)
    preset = PRESETS[given["LOREGLASS_VLM_PRESET"]]
    assert container["image"] == preset.image
    assert manifests.variables("gateway")["LOREGLASS_GATEWAY_VLM_MODEL"] == preset.name
    assert manifests.variables("weights")["LOREGLASS_VLM_PRESET"] == preset.name


@pytest.mark.parametrize(("name", "preset"), VOICES.items())
def test_compose_starts_speech_servers_with_their_presets(name: str, preset: str) -> None:
    service, chosen = SERVICES[name], SPEECH_PRESETS[preset]
    assert (service["image"], service["user"]) == (chosen.image, chosen.user)
    assert [*service.get("entrypoint", []), *service.get("command", [])] == serve_command(chosen)
    assert dict(chosen.environment).items() <= environment_of(service).items()


def follows(manifests: Manifests, cards: int, sequences: int | None, preset: str | None = None) -> None:
    """Check every variable of the plan. A container sees one card, which is card 0 in there."""
    file = read(ROOT / "deploy/placement/l40s.yaml", cards=cards, preset=preset, sequences=sequences)
    planned = environment(propose(file, GatewaySettings.model_fields["answer_deadline_ms"].default))
    for name, variables in planned.items():
        given = manifests.variables(name.replace("_", "-"))
        for variable, value in variables.items():
            on_card_0 = value.replace("cuda:1", "cuda:0").replace('"gpu":1', '"gpu":0')
            assert variable == NO_HEAD or given[variable] == on_card_0, variable


def test_kubernetes_follows_the_plan_for_one_card_and_for_two() -> None:
    follows(overlay("l40s"), 1, None)
    follows(overlay("scale-out"), 2, 12)
    qwen = composed("overlays/l40s", "qwen")
    follows(qwen, 1, 21, qwen.variables(VLM_HOST)["LOREGLASS_VLM_PRESET"])


@pytest.mark.parametrize("name", ["l40s", "scale-out"])
def test_gpu_services_read_local_weights_and_download_nothing(name: str) -> None:
    for app in (app for app in APPS if app.cuda_group):
        given = overlay(name).variables(app.host)
        wanted = {variable: value for variable, value in WEIGHTS.items() if variable.startswith(app.prefix)}
        assert wanted
        assert wanted.items() <= given.items()
        assert given["HF_HUB_OFFLINE"] == "1"
