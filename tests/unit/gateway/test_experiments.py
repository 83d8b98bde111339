"""Experiments and files of thresholds."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from contracts.answer import Answer, Reason
from gateway.pipelines.port import PAPER_PIPELINES, thresholds_of, with_thresholds
from gateway.settings import GatewaySettings, Reasoning
from gateway.thresholds import PACKAGED, Risk, load_thresholds
from tests.unit.gateway import hostile
from tests.unit.gateway.executions import wired_gateway
from tests.unit.gateway.fakes import NAMES, FakeServices, Mood
from tests.unit.gateway.hostile import json_question, post_json, refused
from tests.unit.gateway.platform import QUESTION, World, gateway_before
from tests.unit.gateway.test_chat_completions import user

NEVER = json.dumps({"thresholds": {"answer_confidence": 1.0}})


SETTINGS = {"experiments": True}
standing, measured = hostile.standing, hostile.world  # fixtures of these tests


def chat(**members: Any) -> dict[str, Any]:
    return {"model": "loreglass", "messages": [user(QUESTION)], **members}


# Allowed or not


async def test_experiments_are_off_by_default_and_refused_before_any_work(world: World) -> None:
    experiment: dict[str, Any] = {"explain": True}
    replies = [
        await world.post(photo=b"not a photo", experiment=json.dumps(experiment)),  # it is not even decoded
        await post_json(world, json_question(experiment=experiment)),
        await post_json(world, json_question(experiment={})),
        await world.client.post("/v1/chat/completions", json=chat(experiment=experiment)),
    ]
    for reply in replies:
        assert reply.status_code == 403
        body = reply.json()
        assert body["type"] == "urn:loreglass:problem:experiments_not_allowed"
        assert "LOREGLASS_GATEWAY_EXPERIMENTS" in body["detail"]
    assert all(not world.services[name].calls for name in NAMES)
    assert world.reasoner.queries == []


# What is taken

BAD: list[tuple[Any, str]] = [
    ({"thresholds": {"tau": 0.5}}, "tau"),
    ({"thresholds": {"version": 3}}, "version"),
    ({"thresholds": {"judged": 1.01}}, "judged"),
    ({"thresholds": {"judged": "0.5"}}, "judged"),
    ({"thresholds": {f"name{place}": 0.5 for place in range(33)}}, "thresholds"),
    ({"explain": "yes"}, "explain"),
    ({"explian": True}, "explian"),
    ([], "experiment"),
    *((text, "experiment") for text in ("{", '{"explain": 1, "explain": 1}', '{"thresholds": {"a": NaN}}')),
]


@pytest.mark.parametrize(("experiment", "named"), BAD, ids=lambda value: str(value)[:40])
async def test_bad_experiment_is_refused_with_its_field(measured: World, experiment: Any, named: str) -> None:
    before = len(measured.reasoner.queries)
    if isinstance(experiment, str):
        reply = await measured.post(experiment=experiment)
    else:
        reply = await post_json(measured, json_question(experiment=experiment))
    assert named in refused(reply, 422, "invalid_request")
    assert len(measured.reasoner.queries) == before


# For one question


async def test_thresholds_apply_to_one_question_only() -> None:
    services = FakeServices()
    services.verifier.mood = Mood.HELD
    answers: dict[str, Answer] = {}

    async with gateway_before(services, experiments=True) as world:

        async def ask(name: str, experiment: str) -> None:
            answers[name] = await world.ask(experiment=experiment)

        async with anyio.create_task_group() as group:
            group.start_soon(ask, "strict", NEVER)
            group.start_soon(ask, "plain", "{}")
            with anyio.fail_after(30):
                while len(services.verifier.calls) < 2:
                    await anyio.lowlevel.checkpoint()
            services.verifier.release.set()
        answers["after"] = await world.ask()
    assert answers["strict"].reason is Reason.MODEL_UNSURE
    assert answers["plain"].reason is answers["after"].reason is Reason.ANSWERED


async def test_chat_takes_an_experiment_and_a_deadline(measured: World) -> None:
    sent = chat(experiment={"explain": True, "thresholds": {"judged": 0.75}}, deadline_ms=30_000)
    reply = await measured.client.post("/v1/chat/completions", json=sent)
    assert reply.status_code == 200, reply.text
    answer = Answer.model_validate(reply.json()["loreglass"])
    assert answer.explanation is not None
    assert answer.explanation.thresholds["judged"] == 0.75
    assert (await measured.client.get(f"/traces/{answer.trace_id}")).json()["deadline_ms"] == 30_000
    late = await measured.client.post("/v1/chat/completions", json=chat(deadline_ms=10**9))
    assert (late.status_code, late.json()["error"]["code"]) == (422, "invalid_request")


@pytest.mark.parametrize("reasoning", list(Reasoning))
async def test_every_pipeline_takes_other_thresholds(anyio_backend: object, reasoning: Reasoning) -> None:
    thresholds = load_thresholds()
    others = thresholds.with_overrides({"judged": 0.25})
    async with wired_gateway(reasoning=reasoning, vlm_model="m", experiments=True) as gateway:
        pipelines = gateway.execution.pipelines
    papers = PAPER_PIPELINES if reasoning is Reasoning.VLM else frozenset[str]()
    assert set(pipelines) == {"loreglass", *papers}
    for name, pipeline in pipelines.items():
        if thresholds_of(pipeline) is not None:
            changed = with_thresholds(pipeline, others)
            assert (changed.name, thresholds_of(changed)) == (name, others)
            assert thresholds_of(pipeline) == thresholds


# The value itself


GIVEN = PACKAGED.read_text("utf-8")
VERSION = f"version = {load_thresholds().version}"


def written(folder: Path, text: str) -> Path:
    path = folder / "thresholds.toml"
    path.write_text(text, "utf-8")
    return path


def test_more_careful_risk_raises_thresholds() -> None:
    eager, balanced, careful = (
        load_thresholds(risk=risk) for risk in (Risk.EAGER, Risk.BALANCED, Risk.CAREFUL)
    )
    assert balanced == load_thresholds()
    assert eager.answer_confidence < balanced.answer_confidence < careful.answer_confidence
    assert eager.supported < balanced.supported < careful.supported


def test_named_risk_and_threshold_file_are_exclusive(tmp_path: Path) -> None:
    mine = written(tmp_path, GIVEN)
    with pytest.raises(ValueError, match="not both"):
        GatewaySettings(risk=Risk.EAGER, thresholds=mine)
    assert GatewaySettings(thresholds=mine).thresholds == mine


def test_custom_threshold_file_replaces_all_values(tmp_path: Path) -> None:
    mine = GIVEN.replace(VERSION, "version = 99").replace("decisive = 0.75", "decisive = 1")
    thresholds = load_thresholds(written(tmp_path, mine))
    assert (thresholds.version, thresholds.decisive) == (99, 1.0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("decisive = 0.75", "decisive = 0.75\ndecisiv = 0.90"), "decisiv: "),
        (("decisive = 0.75", ""), "decisive: "),
        (("decisive = 0.75", "decisive = 1.5"), "decisive: "),
        (("decisive = 0.75", "supported = 0.9"), "supported is given twice"),
        ((VERSION, "version = 0"), "version: "),
        ((VERSION, "version = "), "is not TOML"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_sentence(
    tmp_path: Path, change: tuple[str, str], sentence: str
) -> None:
    assert change[0] in GIVEN
    with pytest.raises(ValueError, match=r"\.$") as refused:
        load_thresholds(written(tmp_path, GIVEN.replace(*change)))
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.toml"
    for _ in range(2):
        with pytest.raises(ValueError, match=r"thresholds\.toml"):
            load_thresholds(path)
        path.write_bytes(b"\xff\xfe")
