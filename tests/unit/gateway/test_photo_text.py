"""What OCR and image search say of a photo, and the domain's advice for the draft."""

import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from chassis.errors import NotSupported
from chassis.http.calls import ServiceClient, http_client
from chassis.resilience.deadlines import Deadline
from contracts.domain_router import ClassifyReply, Domain
from contracts.geometry import Point
from contracts.ocr import OcrReply, TextLine
from contracts.operations import Info
from gateway.clients.conversion import photo_text
from gateway.clients.services import PhotoRecipients, Services
from gateway.pipelines.loreglass.pipeline import LoreglassPipeline
from gateway.pipelines.port import Pipeline
from gateway.reasoning.port import ReadPhoto
from gateway.steps import photo
from gateway.thresholds import RetrievalLimits
from services.image_search.app import create_app
from services.image_search.settings import ImageSearchSettings
from tests.live import served
from tests.unit.gateway.fakes import FakeServices, Mood, domain_reply, image_hit, images
from tests.unit.gateway.pipelines import THRESHOLDS, Result, put
from tests.unit.gateway.reasoners import ScriptedReasoner
from tests.unit.gateway.sessions.harness import ManualClock

WIDTH, HEIGHT = 900, 1200
ROWS = (("Onion soup", 100, 300), ("Beef stew", 100, 400), ("Apple tart", 100, 500))


def read_at(angle: float, rows: Sequence[tuple[str, int, int]] = ROWS) -> OcrReply:
    """Lines of text, each with its left and top, on a photo turned by `angle` radians about its centre."""
    lines = []
    for text, left, top in rows:
        corners = ((left, top), (left + 300, top), (left + 300, top + 40), (left, top + 40))
        quadrilateral = [turned(x, y, angle) for x, y in corners]
        lines.append(TextLine(text=text, score=0.99, quadrilateral=quadrilateral))
    return OcrReply(lines=lines, width=WIDTH, height=HEIGHT)


def covered(angle: float) -> tuple[float, float]:
    """Width and height of what a photo that was turned back covers."""
    cos, sin = abs(math.cos(angle)), abs(math.sin(angle))
    return WIDTH * cos + HEIGHT * sin, WIDTH * sin + HEIGHT * cos


def turned(x: float, y: float, angle: float) -> Point:
    dx, dy = x - WIDTH / 2, y - HEIGHT / 2
    cos, sin = math.cos(angle), math.sin(angle)
    return Point(x=WIDTH / 2 + dx * cos - dy * sin, y=HEIGHT / 2 + dx * sin + dy * cos)


def test_level_text_keeps_its_place() -> None:
    assert photo_text(read_at(0.0)).lines[0].box == (100 / WIDTH, 300 / HEIGHT, 400 / WIDTH, 340 / HEIGHT)
    assert photo_text(OcrReply(lines=[], width=WIDTH, height=HEIGHT)).lines == ()


def test_price_stays_on_its_row_in_a_tilted_photo() -> None:
    menu = (("Onion soup", 100, 300), ("€4.50", 700, 300), ("Beef stew", 100, 350), ("€9.00", 700, 350))
    for degrees in (6, -6, 12):
        lines = photo_text(read_at(math.radians(degrees), menu)).lines
        boxes = {line.text: line.box for line in lines}
        middles = {text: (top + bottom) / 2 for text, (_, top, _, bottom) in boxes.items()}
        assert boxes["Onion soup"][1] < middles["€4.50"] < boxes["Onion soup"][3]
        assert boxes["Beef stew"][1] < middles["€9.00"] < boxes["Beef stew"][3]


def test_rotated_text_is_read_in_order() -> None:
    for degrees in (180, 90, -90, 35, -35):
        lines = photo_text(read_at(math.radians(degrees))).lines
        assert [line.text for line in lines] == [text for text, _, _ in ROWS]
        for left, top, right, bottom in (line.box for line in lines):
            wide, high = covered(math.radians(degrees))
            assert ((right - left) * wide, (bottom - top) * high) == pytest.approx((300, 40))
        assert all(0 <= edge <= 1 for line in lines for edge in line.box)


def test_texts_side_by_side_are_one_row() -> None:
    menu = (("Onion soup", 100, 300), ("€4.50", 700, 300), ("Desserts", 100, 350), ("Tart", 100, 400))
    assert photo_text(read_at(math.radians(6), menu)).rows == "Onion soup €4.50\nDesserts\nTart"


class CountingClient(ServiceClient):
    """A client whose service says what it takes; counts how often it is asked."""

    takes: tuple[str, ...] = ()
    requests = 0

    async def get(self, path: str, reply: type, deadline: Deadline) -> object:  # type: ignore[override]
        """`GET /info`."""
        assert path == "/info"
        self.requests += 1
        return Info(service="image_search", version="1", engine="clip", takes=list(self.takes))


@asynccontextmanager
async def services_at(url: str, **replaced: ServiceClient) -> AsyncIterator[Services]:
    async with http_client() as http:
        clients = {name: ServiceClient(http, name, url) for name in Services.names()}
        yield Services(**{**clients, **replaced})


async def test_text_query_support_is_cached() -> None:
    clock = ManualClock()
    async with http_client() as http:
        client = CountingClient(http, "image_search", "http://x")
        async with services_at("http://x", image_search=client) as services:

            async def takes_texts() -> bool:
                return await services.takes("image_search", "text", Deadline.after_ms(10_000, clock))

            assert [await takes_texts(), await takes_texts()] == [False, False]
            assert client.requests == 1
            client.takes, clock.now = ("image", "text"), clock.now + 61.0
            assert [await takes_texts(), await takes_texts()] == [True, True]
            assert client.requests == 2
    async with services_at("http://127.0.0.1:1") as away:
        assert not await away.takes("image_search", "text", Deadline.after_ms(10_000))


async def test_search_by_text_returns_entities_and_cuts_a_long_text() -> None:
    fakes = FakeServices(picture_texts=images(image_hit("Fair", 0.6), image_hit("Lamp", 0.3)))
    async with served(fakes.app()) as url, services_at(url) as services:
        things = await services.search_photos_by_text(["a fair " * 1_000], 2, Deadline.after_ms(10_000))
    assert [(thing.name, thing.probability) for thing in things] == [("Fair", 0.6), ("Lamp", 0.3)]
    (request,) = fakes.picture_texts.calls
    assert (len(request.texts[0]), request.k) == (2_000, 2)


async def test_builtin_engine_accepts_no_text_queries(tmp_path: Path) -> None:
    app = create_app(ImageSearchSettings(port=0, data_dir=tmp_path))
    async with served(app) as url, services_at(url) as services:
        deadline = Deadline.after_ms(30_000)
        assert (await services.about("image_search", deadline)).takes == ["image"]
        with pytest.raises(NotSupported, match="by photos only"):
            await services.search_photos_by_text(["a fair"], 2, deadline)


async def ask(reasoner: ScriptedReasoner, services: FakeServices, sees: bool = False, **more: Any) -> Result:
    """Put one question to the default pipeline; `sees`: whether its domain router gets the photo."""

    def pipeline(clients: Services, reasoner: ScriptedReasoner) -> Pipeline:
        clients = replace(clients, photo_to=PhotoRecipients(domain_router=sees))
        return LoreglassPipeline(clients, reasoner, THRESHOLDS, RetrievalLimits())

    with anyio.fail_after(20):
        return await put(pipeline, reasoner, services, **more)


def guess(probability: float) -> ClassifyReply:
    """Books, so probably."""
    reply = domain_reply(Domain.BOOK)
    rest = (1 - probability) / (len(Domain) - 1)
    probs = [probability if domain is Domain.BOOK else rest for domain in Domain]
    return reply.model_copy(update={"data": [reply.data[0].model_copy(update={"probs": probs})]})


@pytest.mark.parametrize(
    ("sees", "probability", "domain"),
    [(True, 0.8, Domain.BOOK), (True, 0.4, None), (False, 0.8, None)],
    ids=["sure", "unsure", "waits for OCR"],
)
async def test_draft_gets_advice_if_the_domain_is_known_at_once(
    sees: bool, probability: float, domain: Domain | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(photo, "ADVICE_WAIT_S", 10.0)  # whatever else this machine does
    services, reasoner = FakeServices(), ScriptedReasoner()
    services.domain_router.reply = guess(probability)
    result = await ask(reasoner, services, sees)
    assert reasoner.domains == [domain]
    assert result.outcome.domain is Domain.BOOK


async def test_a_draft_does_not_wait_for_a_slow_domain_router() -> None:
    services = FakeServices()
    services.domain_router.mood = Mood.HELD

    async def then_it_answers(_: ReadPhoto) -> None:
        services.domain_router.release.set()

    reasoner = ScriptedReasoner(before_draft=then_it_answers)
    result = await ask(reasoner, services, sees=True)
    assert reasoner.domains == [None]
    assert result.outcome.domain is Domain.BOOK


async def test_draft_gets_no_advice_without_the_domain_module() -> None:
    reasoner = ScriptedReasoner()
    result = await ask(reasoner, FakeServices(), sees=True, missing=["domain-advice"])
    assert reasoner.domains == [None]
    assert result.outcome.domain is Domain.BOOK
