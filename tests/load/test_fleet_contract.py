"""The stand-in fleet against what really calls it: replies of every route, faults, and whole pipelines."""

import io
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from PIL import Image

from bench.fleet import Fleet, Mode, Served, Switch, serving
from capacity.standins import QUESTIONS, SERVICES, VLM, Calibration, Node
from chassis.errors import DeadlineExceeded, DependencyUnavailable, LoreglassError, Overloaded
from chassis.http.calls import ServiceClient, http_client
from chassis.resilience.deadlines import Deadline
from contracts.answer import Answer, CitationKind, Reason, Route
from contracts.domain_router import Domain
from contracts.operations import Info
from gateway.app import create_app
from gateway.clients.services import PhotoRecipients, Services
from gateway.llm.call import VlmEndpoint
from gateway.llm.client import VlmClient
from gateway.settings import GatewaySettings
from gateway.state import ToRead
from tests.live import live

pytestmark = pytest.mark.anyio

INSTANT = Calibration.l40s().scaled(0)
PATIENCE_MS = 30_000


def _jpeg() -> bytes:
    held = io.BytesIO()
    Image.new("RGB", (320, 240), (90, 120, 150)).save(held, "JPEG")
    return held.getvalue()


PHOTO = _jpeg()


def _deadline() -> Deadline:
    return Deadline.after_ms(PATIENCE_MS)


@asynccontextmanager
async def _fleet(calibration: Calibration = INSTANT) -> AsyncIterator[tuple[Served, Node]]:
    node = Node(calibration, seed=1)
    async with serving(node, dict.fromkeys(SERVICES, 0)) as served:
        yield served, node


@asynccontextmanager
async def _services(calibration: Calibration = INSTANT) -> AsyncIterator[tuple[Services, Served, Node]]:
    async with _fleet(calibration) as (served, node), http_client() as http:
        clients: dict[str, Any] = {n: ServiceClient(http, n, served.urls[n]) for n in Services.names()}
        yield Services(**clients, photo_to=PhotoRecipients(domain_router=True, reranker=True)), served, node


def _gateway_settings(served: Served) -> GatewaySettings:
    urls: dict[str, Any] = {f"{name}_url": url for name, url in served.urls.items()}
    return GatewaySettings(**urls, reasoning="vlm", vlm_model=INSTANT.model, latencies="l40s")


async def test_every_service_answers_the_gateways_own_client() -> None:
    async with _services() as (services, _, node):
        text = await services.read_text(PHOTO, _deadline())
        assert text.plain.startswith("Marrow Quay Bridge")
        seen = await services.classify("Where is it?", "", _deadline(), PHOTO)
        read = await services.classify("Where is it?", text.plain, _deadline())
        assert seen.domain is read.domain is Domain.LOCAL
        crops = [crop.jpeg for crop in await services.crop(PHOTO, ["bridge"], 4, _deadline())]
        assert len(crops) == 4
        assert Image.open(io.BytesIO(crops[0])).format == "JPEG"
        whole = await services.search_photos([PHOTO], 5, _deadline())
        close = await services.search_photos(crops, 5, _deadline())
        assert whole[0].name == close[0].name == "Marrow Quay Bridge"
        assert whole[0].probability < close[0].probability
        pages = await services.search_pages(["bridge", "designer"], 10, _deadline())
        texts = [page.text for page in pages]
        assert len(set(texts)) == 10
        for photo in (None, PHOTO):
            scores = await services.rerank("When?", ["Nothing.", *texts], None, 5, _deadline(), photo)
            assert scores[1] > scores[0] > 0
        checked = await services.verify("When?", "In 1931.", texts[:2], "Marrow Quay Bridge", _deadline())
        assert checked.supported
        to_read = [ToRead("Nothing."), ToRead(texts[0], kind=CitationKind.PAGE)]
        (found,) = await services.read("When?", to_read, "Marrow Quay Bridge", (), 1, _deadline())
        assert (found.passage, found.span) == (1, "1931")
        assert {name: counts.refused for name, counts in node.counts.items()} == dict.fromkeys(SERVICES, 0)


async def test_every_service_is_ready_and_says_what_it_holds() -> None:
    async with _services() as (services, served, _), http_client() as http:
        for name in Services.names():
            assert (await services.ready(name, _deadline())).status == "ok"
            client = ServiceClient(http, name, served.urls[name])
            assert (await client.get("/info", Info, _deadline())).service == name
        vlm = VlmClient(http, VlmEndpoint(served.urls[VLM], INSTANT.model))
        await vlm.ready(_deadline())


@pytest.mark.parametrize("route", list(Route))
@pytest.mark.parametrize("pipeline", ["loreglass", "qa-dragon"])
async def test_both_pipelines_take_the_route_that_the_question_asks_for(pipeline: str, route: Route) -> None:
    async with _fleet() as (served, node), live(create_app(_gateway_settings(served))) as gateway:
        reply = await gateway.post(
            "/answer",
            files={"image": ("photo.jpg", PHOTO, "image/jpeg")},
            data={"question": QUESTIONS[route], "pipeline": pipeline, "deadline_ms": "30000"},
        )
    assert reply.status_code == 200, reply.text
    answer = Answer.model_validate_json(reply.content)
    assert (answer.route, answer.reason, answer.degraded) == (route, Reason.ANSWERED, [])
    kinds = {citation.kind for citation in answer.citations}
    assert kinds == {CitationKind.PHOTO} if route is Route.DIRECT else CitationKind.PAGE in kinds
    refused = {name: counts.refused + counts.expired for name, counts in node.counts.items()}
    assert refused.pop(VLM) <= 1  # the gateway's probe also asks with two photos
    assert not any(refused.values())


async def test_the_gateway_is_ready_on_a_fleet() -> None:
    async with _fleet() as (served, _), live(create_app(_gateway_settings(served))) as gateway:
        assert (await gateway.get("/health/ready")).json()["checks"].keys() >= set(SERVICES)


async def test_a_caller_that_leaves_frees_the_model() -> None:
    slow = Calibration.l40s()
    async with _fleet(slow) as (served, node), httpx.AsyncClient(timeout=None) as http:
        body = _understand()
        async with http.stream("POST", f"{served.urls[VLM]}/v1/chat/completions", json=body) as response:
            async for _ in response.aiter_raw():
                break
            assert node.vlm.running == 1
        await _until(lambda: node.counts[VLM].cancelled == 1)
        assert node.vlm.running == 0


async def _rerank(services: Services, deadline_ms: float = PATIENCE_MS) -> tuple[float, ...]:
    return await services.rerank("When?", ["In 1931."], None, 1, Deadline.after_ms(deadline_ms))


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        (Mode.FAIL, DependencyUnavailable),
        (Mode.RESET, DependencyUnavailable),
        (Mode.HANG, DeadlineExceeded),
        (Mode.HALF_OPEN, DeadlineExceeded),
    ],
)
async def test_a_fault_is_seen_as_what_it_is_and_ends_when_it_is_switched_off(
    mode: Mode, error: type[LoreglassError]
) -> None:
    async with _services() as (services, served, _):
        await _rerank(services)
        served.turn(Switch(service="reranker", mode=mode))
        with pytest.raises(error):
            await _rerank(services, deadline_ms=150)
        served.turn(Switch(service="reranker", mode=Mode.NORMAL))
        assert len(await _rerank(services)) == 1


async def test_a_reply_under_way_is_held_back_while_the_line_is_cut() -> None:
    async with _fleet(Calibration.l40s()) as (served, node), httpx.AsyncClient(timeout=None) as http:
        url = f"{served.urls[VLM]}/v1/chat/completions"
        async with http.stream("POST", url, json=_understand()) as response:
            pieces = response.aiter_raw()
            await anext(pieces)
            served.turn(Switch(service=VLM, mode=Mode.HALF_OPEN))
            with anyio.move_on_after(0.2) as waiting:
                async for _ in pieces:
                    pass
            assert waiting.cancelled_caught
            served.turn(Switch(service=VLM, mode=Mode.NORMAL))
    await _until(lambda: node.counts[VLM].in_flight == 0)


async def test_what_was_sent_into_a_cut_line_is_read_when_it_is_whole_again() -> None:
    async with _services() as (services, served, _):
        served.turn(Switch(service="reranker", mode=Mode.HALF_OPEN))
        async with anyio.create_task_group() as group:
            group.start_soon(_rerank, services)
            await anyio.wait_all_tasks_blocked()
            served.turn(Switch(service="reranker", mode=Mode.NORMAL))


async def test_a_full_service_is_overloaded_to_its_client() -> None:
    async with _services() as (services, _, node), anyio.create_task_group() as group:
        station = node.stations["reranker"]
        for _ in range(node.calibration.concurrency["reranker"] + node.calibration.queue):
            group.start_soon(station.work, 60_000, None)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Overloaded):
            await _rerank(services)
        group.cancel_scope.cancel()


async def test_switches_and_counts_are_reached_over_http() -> None:
    async with _services() as (services, served, _), httpx.AsyncClient(base_url=served.control) as control:
        told = {"service": "ocr", "mode": "memory", "memory_mib": 4_321}
        assert (await control.post("/fleet/switch", json=told)).status_code == 204
        assert (await services.about("ocr", _deadline())).memory_peak_mib == 4_321
        assert (
            await control.post("/fleet/switch", json={"service": "cook", "mode": "hang"})
        ).status_code == 422
        await _rerank(services)
        counts = (await control.get("/fleet/counts")).json()
        assert counts["reranker"]["finished"] == 1
        assert counts[VLM]["running"] == 0


@pytest.fixture(scope="module")
def apart() -> Iterator[Fleet]:
    """Processes: one for the reranker, one for the rest."""
    with Fleet(INSTANT, apart=("reranker",)) as fleet:
        yield fleet


def _status(fleet: Fleet, deadline_s: float = 10.0) -> int:
    body = {"query": "When?", "documents": ["In 1931."]}
    return httpx.post(f"{fleet.urls['reranker']}/v1/rerank", json=body, timeout=deadline_s).status_code


def test_a_killed_service_comes_back_on_the_same_port(apart: Fleet) -> None:
    assert _status(apart) == 200
    before = apart.pid("reranker")
    apart.kill("reranker")
    with pytest.raises(httpx.ConnectError):
        _status(apart)
    assert "reranker" not in apart.counts()
    apart.restart("reranker")
    assert apart.pid("reranker") != before
    assert _status(apart) == 200


def test_a_stopped_service_accepts_and_says_nothing_until_it_is_resumed(apart: Fleet) -> None:
    apart.stop("reranker")
    try:
        with pytest.raises(httpx.ReadTimeout):
            _status(apart, 0.3)
    finally:
        apart.resume("reranker")
    assert _status(apart) == 200


def test_a_fleet_is_switched_and_counted_from_outside(apart: Fleet) -> None:
    apart.switch("reranker", Mode.FAIL)
    assert _status(apart) == 500
    apart.switch("reranker", Mode.NORMAL)
    assert _status(apart) == 200
    assert apart.counts().keys() == set(SERVICES)


def test_only_a_service_apart_can_be_killed(apart: Fleet) -> None:
    with pytest.raises(ValueError, match="shares its process"):
        apart.kill("ocr")
    with pytest.raises(ValueError, match="no service cook"):
        Fleet(apart=("cook",))


def test_a_fleet_tells_the_gateway_where_it_is(apart: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in apart.gateway_environment.items():
        monkeypatch.setenv(name, value)
    assert GatewaySettings() == GatewaySettings(**apart.gateway_settings)
    assert GatewaySettings().vlm_url == apart.urls[VLM]


def _understand() -> dict[str, Any]:
    parts = [{"type": "text", "text": "Question: When did it open?"}, {"type": "text", "text": "TASK"}]
    return {
        "model": INSTANT.model,
        "messages": [{"role": "system", "content": ""}, {"role": "user", "content": parts}],
        "max_tokens": 512,
        "stream": True,
        "response_format": {"type": "json_schema", "json_schema": {"name": "understand", "schema": {}}},
    }


async def _until(condition: Callable[[], bool]) -> None:
    """The server hears of what its caller did a few turns of the loop later."""
    with anyio.fail_after(30):
        while not condition():
            await anyio.lowlevel.checkpoint()
