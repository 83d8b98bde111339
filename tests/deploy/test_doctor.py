"""`loreglass doctor`: what it says of a platform that runs, of one that does not, and of a slow model."""

import io
import json
from collections.abc import Sequence
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
from deploy.doctor import Part, advice, examine, main, report
from deploy.inventory import APPS
from deploy.one_process import platform
from deploy.settings import PocketSettings
from gateway.llm.capabilities import TEXT_ONLY, TEXT_ONLY_NOTE
from gateway.planning.latencies import VlmSpeed

pytestmark = pytest.mark.anyio

SLOW = VlmSpeed(vision_ms=2_000, prefill_ms_per_1k=500, decode_ms_per_token=30)


def told(parts: Sequence[Part]) -> str:
    console = Console(file=io.StringIO(), width=200)
    report(parts, console)
    return console.file.getvalue()  # type: ignore[attr-defined]


def well(name: str, engine: str = "pocket", holds: int | None = None) -> Part:
    return Part(
        name, "http://x", Info(service=name, version="1", engine=engine), Health(status="ok"), holds=holds
    )


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found = free_ports(len(APPS))
    monkeypatch.setenv("LOREGLASS_GATEWAY_URL", f"http://127.0.0.1:{found[0]}")
    monkeypatch.setenv("LOREGLASS_SERVICE_PORT", str(found[1]))
    return found


async def test_every_part_of_a_running_platform_is_found_with_its_engine(
    ports: list[int], tmp_path: Path
) -> None:
    settings = PocketSettings(port=ports[0], data_dir=tmp_path, log_level="error")
    async with platform(settings), httpx.AsyncClient() as http:
        parts = await examine(http)
    assert [part.name for part in parts] == [app.name for app in APPS]
    assert {part.state for part in parts} == {"ready"}
    assert {part.info.engine for part in parts if part.info} == {"lite", "pocket", "builtin"}
    assert {part.name: part.holds for part in parts if part.holds is not None} == {
        "image_search": 0,
        "text_search": 0,
    }
    assert any("Nothing is indexed" in line for line in advice(parts))


async def test_a_model_that_is_slower_than_callers_wait_is_told_with_the_deadline_that_would_do(
    ports: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with vlm_server(lambda _: says("one")) as server:
        monkeypatch.setenv("LOREGLASS_GATEWAY_REASONING", "vlm")
        monkeypatch.setenv("LOREGLASS_GATEWAY_VLM_URL", server.url)
        monkeypatch.setenv("LOREGLASS_GATEWAY_VLM_MODEL", server.model)
        monkeypatch.setenv("LOREGLASS_GATEWAY_VLM_SPEED", json.dumps(asdict(SLOW)))
        settings = PocketSettings(port=ports[0], data_dir=tmp_path, log_level="error")
        async with platform(settings), httpx.AsyncClient() as http:
            ready = (await http.get(f"http://127.0.0.1:{ports[0]}/health/ready")).json()
            gateway, *_ = await examine(http)
    assert ready["checks"]["vlm"] == "ok"
    assert "LOREGLASS_GATEWAY_ANSWER_DEADLINE_MS=" in ready["checks"]["deadline"]
    assert gateway.info is not None
    assert gateway.info.engine == server.model
    assert gateway.state == "ready, see below"
    assert "LOREGLASS_GATEWAY_ANSWER_DEADLINE_MS=" in " ".join(advice([gateway]))


def test_where_nothing_runs_that_is_said_with_what_starts_it(
    ports: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert not main()
    said = capsys.readouterr().out
    assert "does not answer" in said
    assert "make serve" in said


def test_settings_without_a_model_s_name_are_one_sentence(
    ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOREGLASS_GATEWAY_REASONING", "vlm")
    with pytest.raises(CannotStart, match="needs vlm_model"):
        main()


def test_the_model_is_told_with_its_name_and_what_it_takes() -> None:
    told_by = Info(service="gateway", version="1", engine="m", model={"name": "m", "photos": TEXT_ONLY})
    gateway = replace(gateway_with(vlm=TEXT_ONLY_NOTE), info=told_by)
    said = list(advice([gateway]))
    assert f"vlm: {TEXT_ONLY_NOTE}" in said
    assert f"The model of the gateway, m: Photos: {TEXT_ONLY}." in said


def test_a_service_that_is_down_is_named() -> None:
    parts = [well("gateway", "a-model"), Part("ocr", "http://127.0.0.1:1"), well("reader")]
    assert "Start ocr" in told(parts)


def test_what_makes_a_part_not_ready_is_told() -> None:
    broken = Part(
        "gateway", "http://x", well("gateway").info, None, "Not ready: vlm (dependency_unavailable)"
    )
    assert "vlm (dependency_unavailable)" in told([broken])


def test_versions_that_nobody_sees_are_told_with_what_goes_on_with_them() -> None:
    search = replace(well("text_search", holds=3), unpublished=("pages-ab",))
    assert "versions that nobody sees (pages-ab)" in told([gateway_with(), search])


def gateway_with(**checks: str) -> Part:
    return replace(well("gateway", "a-model"), health=Health(status="ok", checks=checks))


def test_nothing_is_advised_where_a_model_answers_over_an_index_and_hears_and_speaks() -> None:
    gateway = gateway_with(stt="ok", tts="ok")
    said = list(advice([gateway, well("text_search", holds=3)]))
    assert said == ["Voice: the gateway hears questions and speaks answers."]


@pytest.mark.parametrize(("engine", "shown"), [("lite", True), ("a-model", False)])
def test_without_a_model_the_option_that_adds_one_is_shown(engine: str, shown: bool) -> None:
    assert ("--model-url" in " ".join(advice([well("gateway", engine)]))) is shown


def test_whether_voice_is_set_up_is_told_and_what_is_wrong_with_it() -> None:
    assert "Voice is not set up" in told([gateway_with()])
    away = told([gateway_with(stt="stt does not answer; the wearer's device has to do without.")])
    assert "Voice: the gateway hears questions." in away
    assert "stt does not answer" in away


def test_a_model_s_address_with_a_password_in_it_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(CannotStart, match="no password is sent from there"):
        main("http://somebody:secret@127.0.0.1:9")


def test_a_model_server_that_is_named_and_is_not_there_is_told(
    ports: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    (closed,) = free_ports(1)
    assert not main(f"http://127.0.0.1:{closed}")
    assert "No model server at" in capsys.readouterr().out


async def test_services_with_tokens_tell_what_is_indexed_to_who_shows_the_read_token(
    ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    token, shown = "r" * 40, []

    def answers(request: httpx.Request) -> httpx.Response:
        path, told_token = request.url.path, request.headers.get("authorization")
        shown.append((path, told_token))
        if path == "/info":
            return httpx.Response(200, json={"service": "x", "version": "1", "engine": "pocket"})
        if path == "/v1/collections" and told_token != f"Bearer {token}":
            detail = "This service needs its token."
            problem = Problem(type="urn:loreglass:problem:unauthorized", title="x", status=401, detail=detail)
            return httpx.Response(401, json=problem.model_dump())
        return httpx.Response(200, json={"status": "ok", "collections": []})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answers)) as http:
        without = await examine(http)
        monkeypatch.setenv("LOREGLASS_SERVICE_TOKEN", token)
        shown.clear()
        having = await examine(http)
    assert "What the text_search holds is not known: This service needs its token." in list(advice(without))
    assert any("Nothing is indexed" in line for line in advice(having))
    assert {path for path, told_token in shown if told_token} == {"/v1/collections"}
