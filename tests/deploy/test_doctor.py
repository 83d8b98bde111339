"""`loreglass doctor`: what it says of a platform that runs, of one that does not, and of a slow model."""

import io
import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from bench.node import says, vlm_server
from bench.ports import free_ports
from chassis.startup import CannotStart
from contracts.errors import Problem
from contracts.operations import Health, Info
from deploy.doctor import WEIGHTS, Part, advice, damaged_weights, examine, main, report
from deploy.inventory import APPS
from deploy.one_process import platform
from deploy.settings import LiteSettings
from gateway.llm.capabilities import TEXT_ONLY, TEXT_ONLY_NOTE
from gateway.planning.latencies import VlmSpeed

SLOW = VlmSpeed(vision_ms=2_000, prefill_ms_per_1k=500, decode_ms_per_token=30)


def well(name: str, engine: str = "builtin", points: int | None = None) -> Part:
    return Part(name, "http://x", Info(service=name, version="1", engine=engine), Health(status="ok"), points)


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    result = free_ports(len(APPS))
    monkeypatch.setenv("LOREGLASS_GATEWAY_URL", f"http://127.0.0.1:{result[0]}")
    monkeypatch.setenv("LOREGLASS_SERVICE_PORT", str(result[1]))
    return result


async def test_every_part_of_a_running_platform_is_found_with_its_engine(
    ports: list[int], tmp_path: Path
) -> None:
    settings = LiteSettings(port=ports[0], data_dir=tmp_path, log_level="error")
    async with platform(settings), httpx.AsyncClient() as http:
        parts = await examine(http)
    assert [part.name for part in parts] == [app.name for app in APPS]
    assert {part.state for part in parts} == {"ready"}
    assert {part.info.engine for part in parts if part.info} == {"lite", "bm25", "builtin"}
    assert {part.name: part.points for part in parts if part.points is not None} == {
        "image_search": 0,
        "text_search": 0,
    }
    assert any("Nothing is indexed" in line for line in advice(parts))


async def test_slow_model_is_reported_with_a_sufficient_deadline(
    ports: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with vlm_server(lambda _: says("one")) as server:
        speed = json.dumps(asdict(SLOW))
        names = {"REASONING": "vlm", "VLM_URL": server.url, "VLM_MODEL": server.model, "VLM_SPEED": speed}
        for name, value in names.items():
            monkeypatch.setenv(f"LOREGLASS_GATEWAY_{name}", value)
        settings = LiteSettings(port=ports[0], data_dir=tmp_path, log_level="error")
        async with platform(settings), httpx.AsyncClient() as http:
            ready = (await http.get(f"http://127.0.0.1:{ports[0]}/health/ready")).json()
            gateway, *_ = await examine(http)
    assert ready["checks"]["vlm"] == "ok"
    assert "LOREGLASS_GATEWAY_ANSWER_DEADLINE_MS=" in ready["checks"]["deadline"]
    assert gateway.info is not None
    assert gateway.info.engine == server.model
    assert gateway.state == "ready, see below"
    assert "LOREGLASS_GATEWAY_ANSWER_DEADLINE_MS=" in " ".join(advice([gateway]))


def test_missing_platform_is_reported_with_the_start_command(
    ports: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    (closed,) = free_ports(1)
    assert not main(f"http://127.0.0.1:{closed}")
    output = capsys.readouterr().out
    for words in ("does not answer", "make serve", "No model server at"):
        assert words in output


def test_invalid_settings_are_one_sentence_before_any_request(
    ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CannotStart, match="no password is sent from there"):
        main("http://somebody:secret@127.0.0.1:9")
    monkeypatch.setenv("LOREGLASS_GATEWAY_REASONING", "vlm")
    with pytest.raises(CannotStart, match="needs vlm_model"):
        main()


def gateway_with(**checks: str) -> Part:
    return replace(well("gateway", "a-model"), health=Health(status="ok", checks=checks))


DOWN = Part("ocr", "http://127.0.0.1:1")
BROKEN = Part("gateway", "http://x", well("gateway").info, trouble="Not ready: vlm (dependency_unavailable)")
BLIND = Info(service="gateway", version="1", engine="m", model={"name": "m", "photos": TEXT_ONLY})


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        ([well("gateway", "a-model"), DOWN, well("reader")], ["Start ocr"]),
        ([BROKEN], ["vlm (dependency_unavailable)"]),
        ([gateway_with(), well("text_search", points=3)], ["3 passages", "Voice is not set up"]),
        ([well("gateway", "lite")], ["--model-url"]),
        ([gateway_with(stt="stt does not answer")], ["Voice: the gateway hears questions.", "stt does not"]),
        (
            [replace(gateway_with(vlm=TEXT_ONLY_NOTE), info=BLIND)],
            [f"vlm: {TEXT_ONLY_NOTE}", f"The model of the gateway, m: Photos: {TEXT_ONLY}."],
        ),
    ],
)
def test_each_problem_is_reported_with_the_next_step(parts: list[Part], lines: list[str]) -> None:
    console = Console(file=io.StringIO(), width=200)
    report(parts, console)
    assert [line for line in lines if line not in console.file.getvalue()] == []  # type: ignore[attr-defined]


def test_a_complete_platform_gets_no_advice() -> None:
    parts = [gateway_with(stt="ok", tts="ok"), well("text_search", points=3)]
    assert list(advice(parts)) == ["Voice: the gateway hears questions and speaks answers."]


def test_damaged_weights_are_reported_with_what_to_do(
    ports: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main()
    assert "weights: ok" in capsys.readouterr().out
    folder = tmp_path / "cross_encoder"
    shutil.copytree(WEIGHTS / "cross_encoder", folder)
    (folder / "tokenizer.json").write_text("{}")
    damaged = [str(folder / "tokenizer.json"), str(tmp_path / "sentence_encoder" / "model.json")]
    assert list(damaged_weights(tmp_path)) == damaged
    monkeypatch.setattr("deploy.doctor.damaged_weights", lambda: damaged)
    assert not main()
    assert "Install Loreglass again" in " ".join(capsys.readouterr().out.split())


async def test_index_status_requires_the_read_token(
    ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    token, calls = "r" * 40, []

    def answers(request: httpx.Request) -> httpx.Response:
        path, sent_token = request.url.path, request.headers.get("authorization")
        calls.append((path, sent_token))
        if path == "/info":
            return httpx.Response(200, json={"service": "x", "version": "1", "engine": "builtin"})
        if path == "/v1/collections" and sent_token != f"Bearer {token}":
            detail = "This service needs its token."
            problem = Problem(type="about:blank", title="x", status=401, detail=detail)
            return httpx.Response(401, json=problem.model_dump())
        return httpx.Response(200, json={"status": "ok", "collections": []})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answers)) as http:
        without = await examine(http)
        monkeypatch.setenv("LOREGLASS_SERVICE_TOKEN", token)
        calls.clear()
        having = await examine(http)
    assert "The contents of text_search cannot be read: This service needs its token." in list(
        advice(without)
    )
    assert any("Nothing is indexed" in line for line in advice(having))
    assert {path for path, sent_token in calls if sent_token} == {"/v1/collections"}
