"""The node against its real callers: the gateway's clients, whole questions, faults, and processes."""

import io
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.routing import Mount

from bench.node.app import MODEL, Fault, FaultRequest, NodeApp
from bench.node.launch import Node
from bench.node.pace import SERVICES, VLM, Pace, Time
from bench.node.scene import QUESTIONS
from chassis.errors import DeadlineExceeded, DependencyUnavailable, LoreglassError
from chassis.http.calls import ServiceClient, http_client
from chassis.http.serving import BoundApp, listen, running
from chassis.resilience.deadlines import Deadline
from contracts.answer import Answer, CitationKind, Reason, Route
from contracts.domain_router import Domain
from gateway.app import create_app
from gateway.clients.services import PhotoRecipients, Services
from gateway.settings import GatewaySettings
from gateway.state import ToRead
from tests.live import live

pytestmark = pytest.mark.anyio
PATIENCE_MS = 30_000


def _jpeg() -> bytes:
    held = io.BytesIO()
    Image.new("RGB", (320, 240), (90, 120, 150)).save(held, "JPEG")
    return held.getvalue()


PHOTO = _jpeg()


def _deadline(ms: float = PATIENCE_MS) -> Deadline:
    return Deadline.after_ms(ms)


@asynccontextmanager
async def _node(pace: Pace | None = None) -> AsyncIterator[tuple[str, NodeApp]]:
    node = NodeApp(pace or Pace())
    bound = BoundApp(Starlette(routes=[Mount("", node)]), listen("127.0.0.1", 0))  # type: ignore[arg-type]
    async with running([bound]):
        yield bound.url, node


@asynccontextmanager
async def _services(pace: Pace | None = None) -> AsyncIterator[tuple[Services, NodeApp]]:
    async with _node(pace) as (url, node), http_client() as http:
        clients: dict[str, Any] = {name: ServiceClient(http, name, url) for name in Services.names()}
        yield Services(**clients, photo_to=PhotoRecipients(domain_router=True, reranker=True)), node


def _settings(url: str) -> GatewaySettings:
    urls: dict[str, Any] = {f"{name}_url": url for name in (*SERVICES, VLM)}
    return GatewaySettings(**urls, reasoning="vlm", vlm_model=MODEL, latencies="l40s")


async def test_every_service_answers_the_gateways_own_client() -> None:
    async with _services() as (services, node):
        text = await services.read_text(PHOTO, _deadline())
        assert text.plain.startswith("Marrow Quay Bridge")
        seen = await services.classify("Where is it?", text.plain, _deadline(), PHOTO)
        assert seen.domain is Domain.LOCAL
        crops = [crop.jpeg for crop in await services.crop(PHOTO, ["bridge"], 4, _deadline())]
        assert Image.open(io.BytesIO(crops[0])).format == "JPEG"
        whole = await services.search_photos([PHOTO], 5, _deadline())
        close = await services.search_photos(crops, 5, _deadline())
        assert whole[0].name == close[0].name == "Marrow Quay Bridge"
        assert whole[0].probability < close[0].probability
        texts = [page.text for page in await services.search_pages(["bridge", "designer"], 10, _deadline())]
        assert len(set(texts)) == 10
        for photo in (None, PHOTO):
            scores = await services.rerank("When?", ["Nothing.", *texts], None, 5, _deadline(), photo)
            assert scores[1] > scores[0] > 0
        checked = await services.verify("When?", "In 1931.", texts[:2], "Marrow Quay Bridge", _deadline())
        assert checked.supported
        to_read = [ToRead("Nothing."), ToRead(texts[0], kind=CitationKind.PAGE)]
        (found,) = await services.read("When?", to_read, "Marrow Quay Bridge", (), 1, _deadline())
        assert (found.passage, found.span) == (1, "1931")
        for name in Services.names():
            assert (await services.ready(name, _deadline())).status == "ok"
        assert all(node.counts()[name]["received"] for name in SERVICES)


@pytest.mark.parametrize("route", list(Route))
async def test_a_question_takes_its_route(route: Route) -> None:
    async with _node() as (url, node), live(create_app(_settings(url))) as gateway:
        reply = await gateway.post(
            "/answer",
            files={"image": ("photo.jpg", PHOTO, "image/jpeg")},
            data={"question": QUESTIONS[route], "deadline_ms": "30000"},
        )
        ready = (await gateway.get("/health/ready")).json()
    assert reply.status_code == 200, reply.text
    answer = Answer.model_validate_json(reply.content)
    assert (answer.route, answer.reason, answer.degraded) == (route, Reason.ANSWERED, [])
    kinds = {citation.kind for citation in answer.citations}
    assert kinds == {CitationKind.PHOTO} if route is Route.DIRECT else CitationKind.PAGE in kinds
    assert ready["checks"].keys() >= {*SERVICES, VLM}
    assert node.counts()[VLM]["busy"] == 0


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault.ERROR, DependencyUnavailable),
        (Fault.GARBAGE, DependencyUnavailable),
        (Fault.CUT, DependencyUnavailable),
        (Fault.HANG, DeadlineExceeded),
        (Fault.SLOW, DeadlineExceeded),
    ],
)
async def test_a_fault_is_seen_by_the_client_and_ends(fault: Fault, error: type[LoreglassError]) -> None:
    async with _services() as (services, node):
        node.set_fault(FaultRequest(service="reranker", fault=fault, ms=60_000))
        with pytest.raises(error):
            await services.rerank("When?", ["In 1931."], None, 1, _deadline(300))
        node.set_fault(FaultRequest(service="reranker", fault=Fault.NONE))
        assert await services.rerank("When?", ["In 1931."], None, 1, _deadline())


async def test_work_takes_time_and_waits_for_a_worker() -> None:
    pace = Pace(services={"ocr": Time(fixed_ms=60_000, workers=1)})
    async with _services(pace) as (services, node):
        with pytest.raises(DeadlineExceeded):
            await services.read_text(PHOTO, _deadline(200))
        while node.counts()["ocr"]["busy"]:  # the client closed its connection, which ends the work
            await services.ready("ocr", _deadline())


@pytest.fixture(scope="module")
def apart() -> Iterator[Node]:
    """Two processes: one for the reranker, one for the rest."""
    with Node(apart=("reranker",)) as node:
        yield node


def _status(node: Node, deadline_s: float = 10.0) -> int:
    body = {"query": "When?", "documents": ["In 1931."]}
    return httpx.post(f"{node.urls['reranker']}/v1/rerank", json=body, timeout=deadline_s).status_code


def test_a_killed_service_comes_back_on_the_same_port(apart: Node) -> None:
    assert _status(apart) == 200
    before = apart.pid("reranker")
    apart.kill("reranker")
    with pytest.raises(httpx.ConnectError):
        _status(apart)
    assert "reranker" not in apart.received()
    apart.restart("reranker")
    assert apart.pid("reranker") != before
    assert _status(apart) == 200
    assert apart.received().keys() == {*SERVICES, VLM}


def test_a_stopped_service_accepts_and_answers_once_it_is_resumed(apart: Node) -> None:
    apart.stop("reranker")
    try:
        with pytest.raises(httpx.ReadTimeout):
            _status(apart, 0.3)
        assert "reranker" not in apart.received()
    finally:
        apart.resume("reranker")
    assert _status(apart) == 200
