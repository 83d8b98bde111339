"""Health, readiness, metrics under many requests, and who is let in."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from fastapi import APIRouter, FastAPI
from pydantic import SecretStr

from chassis.errors import DependencyUnavailable
from chassis.http.access import Access
from chassis.http.app import EngineResources, ServiceSpec, create_app, create_service
from chassis.http.health import Note, SingleFlight
from chassis.resilience.deadlines import Deadline
from chassis.settings import AppSettings, ServiceAccess, ServiceSettings
from chassis.startup import WrongSettings
from chassis.telemetry.metrics import Metrics
from tests.live import live
from tests.unit.chassis.apps import kind_of, until

Check = Callable[[Deadline], Awaitable[object]]


def app_with(checks: dict[str, Check], metrics: Metrics | None = None) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.ready_checks = checks
        yield

    return create_app("probe", AppSettings(), [], lifespan, metrics or Metrics("probe"))


async def down(_: Deadline) -> None:
    raise DependencyUnavailable("It cannot be reached at 10.1.2.3.")


async def broken(_: Deadline) -> None:
    raise ZeroDivisionError("/srv/models/weights.bin")


async def over(_: Deadline) -> Note:
    return Note("It holds 6 of its 5 GiB.")


async def talkative(_: Deadline) -> str:
    return "/srv/models/weights.bin"


async def test_ready_shows_notes_of_checks_and_no_other_results() -> None:
    async with live(app_with({"memory": over, "engine": talkative})) as client:
        reply = await client.get("/health/ready")
    assert reply.status_code == 200
    assert reply.json()["checks"] == {"engine": "ok", "memory": "It holds 6 of its 5 GiB."}


@pytest.mark.parametrize(("check", "outcome"), [(down, "dependency_unavailable"), (broken, "internal")])
async def test_not_ready_reply_names_failed_checks_without_details(check: Check, outcome: str) -> None:
    async with live(app_with({"index": check, "engine": talkative})) as client:
        ready, alive = await client.get("/health/ready"), await client.get("/health/live")
        heads = [await client.head(path) for path in ("/health/ready", "/health/live")]
    assert [(reply.status_code, reply.content) for reply in heads] == [(503, b""), (200, b"")]
    assert kind_of(ready) == (503, "not_ready")
    assert ready.json()["detail"] == f"Not ready: index ({outcome})"
    assert alive.json()["status"] == "ok"


async def test_service_is_ready_only_while_its_engine_works() -> None:
    failing: list[Exception] = []
    closed: list[str] = []

    def probe(_: str) -> None:
        if failing:
            raise failing[0]

    def open_engine(resources: EngineResources) -> str:
        resources.on_close(lambda: closed.append("engine"))
        return "engine"

    spec = ServiceSpec("probe", [], open_engine, probe)
    statuses = []
    async with live(create_service(spec, ServiceSettings())) as client:
        for failure in ([], [RuntimeError("CUDA out of memory")], []):
            failing[:] = failure
            statuses.append((await client.get("/health/ready")).status_code)
        info = (await client.get("/info")).json()
    assert statuses == [200, 503, 200]
    assert (info["service"], info["engine"]) == ("probe", "builtin")
    assert closed == ["engine"]


class Looks:
    """Counts looks; each finds its own number once it is let through."""

    def __init__(self) -> None:
        self.begun = 0
        self.now = 0.0
        self.through = anyio.Event()
        self.through.set()

    def clock(self) -> float:
        return self.now

    async def look(self) -> int:
        self.begun += 1
        number = self.begun
        await self.through.wait()
        return number


@pytest.fixture
async def looks(anyio_backend: object) -> Looks:
    return Looks()


async def test_frequent_checks_get_fresh_results(looks: Looks) -> None:
    shared = SingleFlight[int](at_once=3, every_s=1.0, clock=looks.clock)
    begun_at = []
    for hundredth in range(500):
        looks.now = hundredth / 100
        before = looks.begun
        await shared.get(looks.look)
        if looks.begun > before:
            begun_at.append(looks.now)
        assert looks.now - begun_at[-1] <= 1.0
    assert len(begun_at) == 4 + 4  # the first, three at once, and one each second that went by


async def test_concurrent_checks_share_one_run_even_if_its_caller_leaves(
    looks: Looks,
) -> None:
    looks.through = anyio.Event()
    shared = SingleFlight[int](at_once=100, every_s=1.0, clock=looks.clock)
    results: list[int] = []

    async def ask() -> None:
        results.append(await shared.get(looks.look))

    async with anyio.create_task_group() as staying:
        async with anyio.create_task_group() as leaving:
            leaving.start_soon(shared.get, looks.look)
            await until(lambda: looks.begun == 1)
            for _ in range(50):
                staying.start_soon(ask)
            leaving.cancel_scope.cancel()
        looks.through.set()
    assert results == [1] * 50


async def test_check_errors_reach_all_callers_and_are_not_cached(looks: Looks) -> None:
    async def fails() -> int:
        raise ZeroDivisionError

    shared = SingleFlight[int](at_once=1, every_s=1.0, clock=looks.clock)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            await shared.get(fails)
    looks.now = 5.0
    assert await shared.get(looks.look) == 1


async def test_frequent_readiness_and_metrics_requests_add_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics, tried, written = Metrics("probe"), list[int](), list[int]()
    exposition = metrics.exposition

    async def engine(_: Deadline) -> None:
        tried.append(1)

    def counted(*arguments: Any) -> tuple[bytes, str]:
        written.append(1)
        return exposition(*arguments)

    monkeypatch.setattr(metrics, "exposition", counted)
    async with live(app_with({"engine": engine}, metrics)) as client:
        began = anyio.current_time()
        for path in ["/health/ready"] * 20 + ["/metrics"] * 60:
            reply = await client.get(path)
            assert reply.status_code == 200
        seconds = anyio.current_time() - began
    assert b"loreglass_requests_total" in reply.content
    assert len(tried) <= 11 + seconds
    assert len(written) <= 41 + 4 * seconds


READ, WRITE = "read-" + "r" * 24, "write-" + "w" * 24
READER, WRITER = {"Authorization": f"Bearer {READ}"}, {"Authorization": f"Bearer {WRITE}"}


@asynccontextmanager
async def service(
    read: str = READ, write: str = WRITE, host: str = "127.0.0.1"
) -> AsyncIterator[httpx.AsyncClient]:
    reads, writes = APIRouter(), APIRouter()

    @reads.get("/v1/things/{name}")
    async def look(name: str) -> str:
        return name

    @writes.put("/v1/things/{name}")
    async def keep(name: str) -> str:
        return name

    access = ServiceAccess(token=SecretStr(read), write_token=SecretStr(write))
    spec = ServiceSpec("text_search", [reads], lambda _: "engine", lambda _: None, write_routers=[writes])
    async with live(create_service(spec, ServiceSettings(access=access, host=host))) as client:
        yield client


CALLS: list[tuple[str, dict[str, str], int]] = [
    ("GET", {}, 401),
    ("GET", {"Authorization": "Bearer wrong"}, 401),
    ("GET", {"Authorization": READ}, 401),
    ("GET", READER, 200),
    ("GET", WRITER, 200),
    ("GET", {**READER, "Host": "evil.example"}, 400),
    ("PUT", {}, 401),
    ("PUT", READER, 401),
    ("PUT", WRITER, 200),
]


async def test_reading_writing_and_probes_need_their_tokens() -> None:
    async with service() as client:
        for method, headers, status in CALLS:
            reply = await client.request(method, "/v1/things/one", headers=headers)
            assert reply.status_code == status, (method, headers)
            if status == 401:
                assert kind_of(reply) == (401, "unauthorized")
                assert READ not in reply.text
                assert WRITE not in reply.text
        for path in ("/health/live", "/health/ready", "/info", "/metrics"):
            reply = await client.get(path, headers={"Host": "10.1.2.3:7104"})
            assert reply.status_code == 200, path
            assert READ not in reply.text


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("localhost:7104", True),
        ("[::1]:7104", True),
        ("10.0.0.7", True),
        ("text-search:7104", True),
        ("text_search", True),
        ("text-search.loreglass.svc.cluster.local:7104", True),
        ("search.internal", True),
        ("text-search.evil.example", False),
        ("text-search.x.svc.evil.example", False),
        ("evil.example", False),
        ("", False),
    ],
)
def test_service_answers_to_its_own_and_configured_host_names(host: str, known: bool) -> None:
    assert Access(hosts=frozenset({"search.internal"})).answers_to(host, "text_search") is known


async def test_service_without_tokens_is_open_and_warns_on_a_network() -> None:
    async with service("", "") as client:
        assert (await client.put("/v1/things/one")).status_code == 200
        assert (await client.get("/health/ready")).json()["checks"] == {"engine": "ok"}
    async with service("", "", host="0.0.0.0") as client:
        assert "No token" in (await client.get("/health/ready")).json()["checks"]["access"]


@pytest.mark.parametrize(
    ("read", "write"), [(READ, READ), (READ, ""), ("short", WRITE), (READ, "two words of it now")]
)
def test_ineffective_tokens_are_refused_and_not_shown(read: str, write: str) -> None:
    with pytest.raises(WrongSettings) as refused:
        ServiceAccess(token=SecretStr(read), write_token=SecretStr(write)).open()
    assert read not in str(refused.value)


def test_a_token_may_be_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, token in (("TOKEN", READ), ("WRITE_TOKEN", WRITE)):
        (tmp_path / name).write_text(token + "\n")
        monkeypatch.setenv(f"LOREGLASS_SERVICE_{name}_FILE", str(tmp_path / name))
    settings = ServiceSettings()
    assert settings.access.open() == Access(READ, WRITE)
    assert READ not in repr((settings, settings.access.open())) + json.dumps(
        settings.model_dump(mode="json"), default=str
    )
    (tmp_path / "TOKEN").write_text("")
    with pytest.raises(WrongSettings):
        settings.access.open()
