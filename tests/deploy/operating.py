"""An operator's routes on a real gateway, before a real image_search and text_search; nothing else runs."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from chassis.http.serving import BoundApp, listen, running
from corpus.ingest import IMAGES, PAGES
from corpus.versions import Patience
from deploy.administration import RiskChoice
from deploy.contents import Contents, page_of, thing_of
from deploy.documents import documents_router, lookup_router
from deploy.indexing import Indexing, Searches
from deploy.operator import Operator, operator_router
from deploy.settings import SAMPLE
from deploy.uploads import Uploads
from gateway.app import create_app as create_gateway
from gateway.planning.prefetch import side_by_side
from gateway.settings import GatewaySettings
from services.image_search.app import create_app as create_image_search
from services.image_search.settings import ImageSearchSettings
from services.image_search.thumbnails import Thumbnails
from services.text_search.app import create_app as create_text_search
from services.text_search.settings import TextSearchSettings
from tests.live import live

Events = list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True)
class Operated:
    """A client on this machine, and what it talks to."""

    client: httpx.AsyncClient
    app: FastAPI
    indexing: Indexing

    def from_afar(self, address: str = "203.0.113.7") -> httpx.AsyncClient:
        """A client whose packets come from another machine."""
        transport = httpx.ASGITransport(self.app, client=(address, 40_000))
        return httpx.AsyncClient(transport=transport, base_url=self.client.base_url)

    async def hand_over(self, name: str, content: bytes) -> httpx.Response:
        """Upload one file."""
        return await self.client.post("/operator/uploads", files={"file": (name, content)})

    async def index(self, *, sample: bool = False) -> Events:
        """Start a job, and follow it to its end."""
        (await self.client.post("/operator/job", json={"sample": sample})).raise_for_status()
        return await self.followed()

    async def followed(self) -> Events:
        """The events of the job."""
        return events((await self.client.get("/operator/job")).text)

    async def listed(self, what: str, **wanted: str | int) -> dict[str, Any]:
        """A listing's body."""
        body: dict[str, Any] = (await self.client.get(f"/operator/{what}", params=wanted)).json()
        return body


@asynccontextmanager
async def operated(
    folder: Path,
    *,
    keys: Path | None = None,
    sample: Path = SAMPLE,
    most_files: int = 1_000,
    most_bytes: int = 1 << 30,
    most_s: float = 60.0,
    text_search_url: str = "",
) -> AsyncIterator[Operated]:
    """Everything, up. `text_search_url`: of one that is elsewhere, or nowhere."""
    image_search = create_image_search(
        ImageSearchSettings(port=0, data_dir=folder / "image_search", thumbnails=True)
    )
    text_search = create_text_search(TextSearchSettings(port=0, data_dir=folder / "text_search"))
    bound = [BoundApp(app, listen("127.0.0.1", 0)) for app in (image_search, text_search)]
    searches = Searches(bound[0].url, text_search_url or bound[1].url, patience=Patience(pauses_s=()))
    async with side_by_side() as group, running(bound):
        settings = GatewaySettings(
            keys=keys, image_search_url=searches.image_search_url, text_search_url=bound[1].url
        )
        uploads = Uploads(folder / "uploads", most_files, most_bytes)
        indexing = Indexing(uploads, searches, group, sample=sample, most_s=most_s)
        operator = Operator(
            Contents(lambda: image_search.state.pool.engine.store, IMAGES, thing_of),
            Contents(lambda: text_search.state.pool.engine.store, PAGES, page_of),
            Thumbnails(folder / "image_search"),
            indexing,
            RiskChoice.of(settings, folder),
        )
        further = [operator_router(operator), documents_router(indexing), lookup_router(indexing)]
        app = create_gateway(settings, further=further)
        async with live(app) as client:
            yield Operated(client, app, indexing)
            indexing.stop()


def events(text: str) -> Events:
    """What a stream of server-sent events says."""
    blocks = [block.split("\n") for block in text.split("\n\n") if block.startswith("event: ")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def cover(number: int) -> bytes:
    """A JPEG of a thing that is like no other number's."""
    return sorted((SAMPLE / "catalogue").iterdir())[number].read_bytes()


def tiny_world(folder: Path) -> Path:
    """A sample of a thing and a page, written into a new folder."""
    folder.mkdir()
    (folder / "fair.jpg").write_bytes(cover(5))
    (folder / "images.jsonl").write_text('{"photo": "fair.jpg", "entity": "Fair", "attributes": {}}')
    (folder / "pages.jsonl").write_text('{"url": "https://fair.example", "text": "The fair is in June."}')
    return folder
