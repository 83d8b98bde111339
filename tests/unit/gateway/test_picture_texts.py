"""What the gateway believes of an image search's text side, and how it asks it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chassis.errors import NotSupported
from chassis.http.calls import ServiceClient, http_client
from chassis.http.serving import BoundApp, listen, running
from chassis.resilience.deadlines import Deadline
from contracts.image_search import ImageSearchReply
from contracts.operations import Info
from gateway.clients.services import Services
from services.image_search.app import create_app
from services.image_search.settings import ImageSearchSettings
from tests.unit.gateway.fakes import FakeServices, image_hit
from tests.unit.gateway.sessions.harness import ManualClock

pytestmark = pytest.mark.anyio


class Told(ServiceClient):
    """A client whose service says what it takes; counts how often it is asked."""

    takes: tuple[str, ...] = ()
    asked = 0

    async def get(self, path: str, reply: type, deadline: Deadline) -> object:  # type: ignore[override]
        """`GET /info`."""
        assert path == "/info"
        self.asked += 1
        return Info(service="image_search", version="1", engine="clip", takes=list(self.takes))


@asynccontextmanager
async def services_at(url: str, **given: ServiceClient) -> AsyncIterator[Services]:
    async with http_client() as http:
        clients = {name: ServiceClient(http, name, url) for name in Services.names()}
        yield Services(**{**clients, **given})


async def test_whether_texts_are_taken_is_cached_for_a_while() -> None:
    clock = ManualClock()
    async with http_client() as http:
        told = Told(http, "image_search", "http://x")
        async with services_at("http://x", image_search=told) as services:

            async def taken() -> bool:
                return await services.takes_texts(Deadline.after_ms(10_000, clock))

            assert [await taken(), await taken()] == [False, False]
            assert told.asked == 1
            told.takes, clock.now = ("image", "text"), clock.now + 61.0
            assert [await taken(), await taken()] == [True, True]
            assert told.asked == 2
    async with services_at("http://127.0.0.1:1") as away:
        assert not await away.takes_texts(Deadline.after_ms(10_000))


async def test_search_by_text_returns_entities_and_cuts_a_long_text() -> None:
    fakes = FakeServices()
    fakes.picture_texts.reply = ImageSearchReply(
        hits=[image_hit("Fair", 0.6), image_hit("Lamp", 0.3)], collection="images"
    )
    bound = BoundApp(fakes.app(), listen("127.0.0.1", 0))
    async with running([bound]), services_at(bound.url) as services:
        found = await services.search_photos_by_text(["a fair " * 1_000], 2, Deadline.after_ms(10_000))
    assert [(thing.name, thing.probability) for thing in found] == [("Fair", 0.6), ("Lamp", 0.3)]
    (asked,) = fakes.picture_texts.calls
    assert (len(asked.texts[0]), asked.k) == (2_000, 2)


async def test_the_built_in_engine_takes_no_texts(tmp_path: Path) -> None:
    app = create_app(ImageSearchSettings(port=0, data_dir=tmp_path))
    bound = BoundApp(app, listen("127.0.0.1", 0))
    async with running([bound]), services_at(bound.url) as services:
        deadline = Deadline.after_ms(30_000)
        assert (await services.about("image_search", deadline)).takes == ["image"]
        with pytest.raises(NotSupported, match="by photos only"):
            await services.search_photos_by_text(["a fair"], 2, deadline)
