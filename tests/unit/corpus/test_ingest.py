"""Ingestion over HTTP into a real text_search and a fake image_search."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import httpx
import numpy as np
import pytest
from fastapi import APIRouter, Form, Request, UploadFile
from PIL import Image

from chassis.errors import CorruptImage, DependencyUnavailable, Overloaded
from chassis.http.app import EngineResources, ServiceSpec, create_service
from chassis.settings import ServiceSettings
from chassis.vectors.edge import EdgeStore
from chassis.vectors.port import KEYWORDS, CollectionSchema, StoredPoint, VectorStore
from chassis.vectors.routes import collections_router, documents_router, indexing_router
from contracts.collections import Indexed
from contracts.image_search import ImageItems
from corpus.ingest import IngestOptions, IngestReport, ingest_pages, ingest_photos
from corpus.manifests import Rejected
from corpus.versions import Patience
from services.image_search.engine import replace_photos
from services.text_search.app import create_app
from services.text_search.settings import TextSearchSettings
from tests.live import live


def lines(path: Path, records: Sequence[object]) -> Path:
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in records))
    return path


def page(name: str, text: str) -> dict[str, str]:
    return {"url": f"https://pages.example/{name}", "title": name, "text": text}


@asynccontextmanager
async def text_search(folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with live(create_app(TextSearchSettings(port=0, data_dir=folder / "vectors"))) as client:
        yield client


async def index_pages(client: httpx.AsyncClient, source: Path, **options: Any) -> IngestReport:
    return await ingest_pages(source, str(client.base_url), IngestOptions(**options))


async def snippets(client: httpx.AsyncClient, query: str) -> list[str]:
    reply = await client.post("/v1/text-search", json={"queries": [query], "k": 100})
    return sorted(hit["snippet"] for hit in reply.json()["hits"])


async def versions(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = (await client.get("/v1/collections")).json()["collections"]
    return listed


async def test_each_record_is_reported_with_its_outcome(tmp_path: Path) -> None:
    source = lines(tmp_path / "pages.jsonl", [page("a", "The mill."), page("…", "…"), "{"])
    more = lines(tmp_path / "more.jsonl", [page("a", "The mill."), page("c", "The mill pond.")])
    outcomes: dict[str, list[tuple[str, str]]] = {"pages": [], "more": []}
    reports = []
    async with text_search(tmp_path) as client:
        for each in (source, more):
            records = outcomes[each.stem]
            note = lambda *record, records=records: records.append(record[:2])  # noqa: E731
            reports.append(await index_pages(client, each, on_record=note))
        assert await snippets(client, "mill") == ["The mill pond.", "The mill."]
    assert sorted(outcomes["pages"]) == [("line 1", "added"), ("line 2", "rejected"), ("line 3", "rejected")]
    assert sorted(outcomes["more"]) == [("line 1", "unchanged"), ("line 2", "added")]
    assert [(each.indexed, each.unchanged) for each in reports] == [(1, 0), (1, 1)]
    assert {each.where for each in reports[0].rejected} == {"line 2", "line 3"}


async def test_changed_picture_leaves_the_published_version_unchanged(tmp_path: Path) -> None:
    source = lines(
        tmp_path / "pages.jsonl", [page("a", "The mill.") | {"image": "a.png"}, page("b", "The pond.")]
    )
    published = []
    async with text_search(tmp_path) as client:
        for colour in ("red", "blue"):
            Image.new("RGB", (8, 8), colour).save(tmp_path / "a.png")
            published.append(await index_pages(client, source, replace=True))
        [points] = [each["points"] for each in await versions(client) if each["aliases"] == ["pages"]]
    assert [each.added for each in published] == [2, 2]
    assert published[0].version != published[1].version is not None
    assert points == 2


async def test_older_versions_than_the_previous_are_deleted(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client:
        reports = [
            await index_pages(client, lines(tmp_path / "pages.jsonl", [page(name, f"The {name} mill.")]))
            for name in ["red", "green", "blue", "white"]
        ]
        collections = await versions(client)
    assert {each["name"] for each in collections} == {reports[2].version, reports[3].version}
    assert [each["points"] for each in collections if each["aliases"] == ["pages"]] == [4]


async def test_bad_manifest_leaves_the_index_unchanged(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client:
        await index_pages(client, lines(tmp_path / "good.jsonl", [page("a", "The mill.")]))
        before = await versions(client)
        bad = lines(tmp_path / "bad.jsonl", [{**page("b", "…"), "title": "-"}, "{"])
        report = await index_pages(client, bad, replace=True)
        assert await versions(client) == before
    assert (report.indexed, report.version) == (0, None)
    assert {each.reason for each in report.rejected} >= {"There is no text in the page."}


async def test_pages_larger_than_one_call_are_indexed_completely(
    tmp_path: Path,
) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (512, 512, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    stops = "\n\n".join(f"Stop {number} of the harbour line. " * 60 for number in range(150))
    paragraphs = "\n\n".join(
        f"Paragraph {number} is this. " + "Words follow. " * 200 for number in range(300)
    )
    records = [page("harbour", stops) | {"image": "noise.png"}, page("long", paragraphs)]
    async with text_search(tmp_path) as client:
        report = await index_pages(client, lines(tmp_path / "pages.jsonl", records))
        [version] = await versions(client)
        assert "Paragraph 299" in (await snippets(client, "paragraph 299"))[0]
    assert (report.added, report.rejected) == (2, ())
    assert version["points"] > 130 + 300  # more than fits into one request of 32 MiB


async def test_duplicate_url_is_one_page_and_reindexing_is_idempotent(tmp_path: Path) -> None:
    source = lines(tmp_path / "pages.jsonl", [page("a", "The mill."), page("a", "The other mill.")])
    async with text_search(tmp_path) as client:
        report = await index_pages(client, source)
        before = await versions(client)
        again = await index_pages(client, source)
        assert await versions(client) == before
    assert report.rejected == (Rejected("line 2", "This URL is already at line 1."),)
    assert (again.indexed, again.unchanged, again.version) == (0, 1, None)


async def test_an_interrupted_run_continues_where_it_stopped(tmp_path: Path) -> None:
    """All of its state is in the service: a killed process leaves the same behind."""
    source = lines(tmp_path / "pages.jsonl", [page(str(number), f"Mill {number}.") for number in range(400)])

    def interrupt(done: int) -> None:
        if done >= 100:
            raise RuntimeError("the power failed")

    async with text_search(tmp_path) as client:
        await index_pages(client, lines(tmp_path / "old.jsonl", [page("old", "The old mill.")]))
        with pytest.raises((RuntimeError, ExceptionGroup)):
            await index_pages(client, source, progress=interrupt)
        assert await snippets(client, "mill") == ["The old mill."]
        half = {each["name"]: each["points"] for each in await versions(client)}
        report = await index_pages(client, source)
        whole = {each["name"]: each["points"] for each in await versions(client)}
    assert report.version is not None
    assert 100 <= half[report.version] - 1 < 400
    assert report.unchanged >= 100
    assert report.indexed + report.unchanged == 400
    assert whole[report.version] == 401


def patient(*pauses_s: float) -> tuple[IngestOptions, list[float]]:
    """Return options that retry after these pauses, and the list that records the pauses in seconds."""
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    return IngestOptions(patience=Patience(pauses_s=pauses_s, pause=pause)), waits


async def test_unavailable_service_is_an_error_after_retries(tmp_path: Path) -> None:
    source = lines(tmp_path / "pages.jsonl", [page("a", "The mill.")])
    options, waits = patient(1.0, 2.0)
    with pytest.raises(DependencyUnavailable):
        await ingest_pages(source, "http://127.0.0.1:9", options)
    assert waits == [1.0, 2.0]


class PhotoShelf:
    """Keeps what image_search would, without looking at pictures; `broken` in the bytes is a bad picture."""

    schema = CollectionSchema(dense={"look": 2}, keywords=KEYWORDS)

    def __init__(self, store: VectorStore) -> None:
        self.store = store


def photo_shelf(folder: Path, busy: int = 0) -> Any:
    router = APIRouter()
    calls: list[int] = []

    @router.put("/v1/collections/{name}/images")
    async def put(
        name: str, images: list[UploadFile], items: Annotated[str, Form()], request: Request
    ) -> Indexed:
        calls.append(len(images))
        if len(calls) <= busy:
            raise Overloaded("Busy.", retry_after_s=1)
        contents = [await image.read() for image in images]
        if b"broken" in contents:
            raise CorruptImage("The image could not be decoded.")
        written = ImageItems.model_validate_json(items).items
        flat = [item.id for item, image in zip(written, contents, strict=True) if image == b"flat"]
        rejected = dict.fromkeys(flat, "It has no texture.")
        accepted = [item for item in written if item.id not in rejected]
        points = [StoredPoint(item.id, {"look": [1.0, 0.0]}, item.model_dump()) for item in accepted]
        replace_photos(request.app.state.pool.engine.store, name, points)
        return Indexed(indexed=len(points), rejected=rejected)

    def open_engine(resources: EngineResources) -> PhotoShelf:
        store = EdgeStore(folder / "vectors")
        resources.on_close(store.close)
        return PhotoShelf(store)

    spec = ServiceSpec(
        name="photo_shelf",
        routers=[router, collections_router, indexing_router, documents_router],
        open_engine=open_engine,
        probe=lambda engine: engine.store.collections(),
    )
    return create_service(spec, ServiceSettings(port=0))


def photos(folder: Path, contents: dict[str, bytes]) -> Path:
    for name, content in contents.items():
        (folder / f"{name}.jpg").write_bytes(content)
    records = [{"photo": f"{name}.jpg", "entity": name} for name in contents]
    return lines(folder / "images.jsonl", records)


async def test_bad_photo_does_not_block_its_batch(tmp_path: Path) -> None:
    contents = {f"mill-{number}": f"photo {number}".encode() for number in range(20)}
    manifest = photos(tmp_path, {**contents, "bad": b"broken", "wall": b"flat"})
    async with live(photo_shelf(tmp_path)) as client:
        report = await ingest_photos(manifest, str(client.base_url), IngestOptions())
        [version] = await versions(client)
    assert (report.indexed, version["points"], version["aliases"]) == (20, 20, ["images"])
    assert set(report.rejected) == {
        Rejected("line 21", "The image could not be decoded."),
        Rejected("line 22", "It has no texture."),
    }


async def test_photo_folder_is_indexed_like_a_manifest(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, content in {"old_mill-1.jpg": b"1", "old_mill-2.jpg": b"2", "bad.png": b"broken"}.items():
        (folder / name).write_bytes(content)
    (folder / "notes.txt").write_text("not a photo")
    (folder / "metadata.jsonl").write_text('{"file_name": "old_mill-1.jpg", "builtBy": "[[Ada|Ada B.]]"}')
    totals: list[int] = []
    done: list[int] = []
    options = IngestOptions(started=totals.append, progress=done.append)
    async with live(photo_shelf(tmp_path)) as client:
        report = await ingest_photos(folder, str(client.base_url), options)
        again = await ingest_photos(folder, str(client.base_url), IngestOptions())
        (folder / "metadata.jsonl").unlink()
        renamed = await ingest_photos(folder, str(client.base_url), IngestOptions(replace=True))
    store = EdgeStore(tmp_path / "vectors")
    seen = {
        (point.payload["entity"], *point.payload["attributes"].items()) for point in store.scroll("images")
    }
    before = list(store.scroll("images-previous"))
    store.close()
    assert (report.indexed, again.unchanged, renamed.indexed) == (2, 2, 2)
    assert {each.where for each in report.rejected} == {"bad.png", "notes.txt"}
    assert (totals, done[-1]) == ([4], 4)
    assert [point.payload["attributes"] for point in before] == [{"built by": "Ada B."}] * 2
    assert seen == {("Old Mill",)}


async def test_busy_service_is_retried(tmp_path: Path) -> None:
    options, waits = patient(0.5, 0.5)
    async with live(photo_shelf(tmp_path, busy=2)) as client:
        report = await ingest_photos(photos(tmp_path, {"mill": b"photo"}), str(client.base_url), options)
    assert report.indexed == 1
    assert waits == [1.0, 1.0]
