"""A document is known by where it is from: indexing again replaces it, and sources are kept apart."""

import json
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from chassis.errors import CollectionConflict
from corpus.ingest import IngestOptions, IngestReport, ingest_photos
from corpus.items import PageItem, PhotoItem, page_items, photo_items
from tests.live import live
from tests.unit.corpus.test_ingest import index_pages, photo_shelf, text_search


def folder(path: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


async def pages(client: httpx.AsyncClient) -> dict[str, str]:
    """The first passage of every document of the published index, by address."""
    listed = (await client.get("/v1/collections/pages/documents")).json()["documents"]
    shown = {}
    for address in (each["address"] for each in listed):
        content = await client.get("/v1/collections/pages/document", params={"address": address})
        shown[address] = content.json()["passages"][0]
    return shown


def counts(report: IngestReport) -> tuple[int, int, int, int]:
    return report.added, report.replaced, report.unchanged, report.removed


async def test_equal_names_in_two_folders_are_two_documents(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", {"README.md": "Elm Hall has 14 rooms.", "sub/README.md": "The annex."})
    other = folder(tmp_path / "other", {"README.md": "Oak Hall has 22 rooms."})
    async with text_search(tmp_path) as client:
        reports = [await index_pages(client, each) for each in (one, other, one)]
        held = await pages(client)
    assert [counts(each) for each in reports] == [(2, 0, 0, 0), (1, 0, 0, 0), (0, 0, 2, 0)]
    assert held == {
        "file:one/README.md": "Elm Hall has 14 rooms.",
        "file:one/sub/README.md": "The annex.",
        "file:other/README.md": "Oak Hall has 22 rooms.",
    }


async def test_second_folder_of_the_same_name_needs_a_source_name(tmp_path: Path) -> None:
    first = folder(tmp_path / "x" / "docs", {"a.md": "The mill."})
    second = folder(tmp_path / "y" / "docs", {"a.md": "The pond."})
    async with text_search(tmp_path) as client:
        await index_pages(client, first)
        with pytest.raises(CollectionConflict, match="--name"):
            await index_pages(client, second)
        assert await pages(client) == {"file:docs/a.md": "The mill."}
        await index_pages(client, second, name="pond/docs")
        assert set(await pages(client)) == {"file:docs/a.md", "file:pond/docs/a.md"}
        await index_pages(client, second, name="docs")
        assert (await pages(client))["file:docs/a.md"] == "The pond."


def test_shared_canonical_link_is_not_used(tmp_path: Path) -> None:
    html = '<html><head><link rel=canonical href="https://museum.example/"></head><p>It has {}0 clocks.</p>'
    rooms = folder(tmp_path / "rooms", {f"{number}.html": html.format(number) for number in range(1, 4)})
    items = [each for each in page_items(rooms) if isinstance(each, PageItem)]
    assert [each.chunks[0].url for each in items] == [f"file:rooms/{number}.html" for number in (1, 2, 3)]
    (rooms / "2.html").unlink()
    (rooms / "3.html").unlink()
    [alone] = page_items(rooms)
    assert isinstance(alone, PageItem)
    assert (alone.key, alone.chunks[0].url) == ("file:rooms/1.html", "https://museum.example/")


async def test_sync_removes_deleted_files_of_its_source_only(tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs", {"a.md": "The mill.", "b.md": "The pond.", "c.md": "The well."})
    other = folder(tmp_path / "other", {"a.md": "The weir."})
    async with text_search(tmp_path) as client:
        await index_pages(client, other)
        await index_pages(client, docs)
        (docs / "b.md").unlink()
        (docs / "c.md").write_bytes(b"")  # it cannot be read now, and is not gone
        first = await index_pages(client, docs)
        assert len(await pages(client)) == 4
        synced = await index_pages(client, docs, sync=True)
        again = await index_pages(client, docs, sync=True)
        held = await pages(client)
    assert [counts(each) for each in (first, synced, again)] == [(0, 0, 1, 0), (0, 0, 1, 1), (0, 0, 1, 0)]
    assert set(held) == {"file:docs/a.md", "file:docs/c.md", "file:other/a.md"}


async def test_files_in_an_indexed_folder_keep_their_address(tmp_path: Path) -> None:
    files = {"a.md": "The mill.", "visit/b.md": "Open until six.", "visit/c.md": "Closed on Monday."}
    docs = folder(tmp_path / "docs", files)
    async with text_search(tmp_path) as client:
        await index_pages(client, docs)
        folder(docs, {"visit/b.md": "Open until nine."})
        (docs / "visit" / "c.md").unlink()
        alone = await index_pages(client, docs / "visit" / "b.md")
        inside = await index_pages(client, docs / "visit", sync=True)
        held = await pages(client)
    assert [counts(each) for each in (alone, inside)] == [(0, 1, 0, 0), (0, 0, 1, 1)]
    assert held == {"file:docs/a.md": "The mill.", "file:docs/visit/b.md": "Open until nine."}


async def test_sync_of_one_file_removes_no_other(tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs", {"a.md": "The mill.", "b.md": "The pond."})
    async with text_search(tmp_path) as client:
        await index_pages(client, docs)
        folder(docs, {"a.md": "The red mill."})
        assert counts(await index_pages(client, docs / "a.md", sync=True)) == (0, 1, 0, 0)
        assert set(await pages(client)) == {"file:docs/a.md", "file:docs/b.md"}


async def test_corrected_facts_of_a_photo_replace_the_old_ones(tmp_path: Path) -> None:
    photos = folder(tmp_path / "photos", {"gorm_tower.jpg": "photo", "lind_gate.jpg": "photo"})
    async with live(photo_shelf(tmp_path)) as client:
        reports = []
        for height in ("330 m", "331 m", "331 m"):
            line = {"file_name": "gorm_tower.jpg", "height": height}
            folder(photos, {"metadata.jsonl": json.dumps(line)})
            reports.append(await ingest_photos(photos, str(client.base_url), IngestOptions()))
        query = {"address": "file:photos/gorm_tower.jpg"}
        shown = (await client.get("/v1/collections/images/document", params=query)).json()
        listed = (await client.get("/v1/collections/images/documents")).json()
    assert [counts(each) for each in reports] == [(2, 0, 0, 0), (0, 1, 1, 0), (0, 0, 2, 0)]
    assert shown["attributes"] == {"height": "331 m"}
    assert listed["parts"] == listed["total"] == 2


def test_single_photo_equals_its_folder_entry(tmp_path: Path) -> None:
    files = {"gorm_tower.jpg": "photo", "gate.jpg": "another", "sub/gate.jpg": "third"}
    files["metadata.jsonl"] = json.dumps({"file_name": "gorm_tower.jpg", "height": "331 m"})
    photos = folder(tmp_path / "photos", files)
    whole = {each.where: each for each in photo_items(photos) if isinstance(each, PhotoItem)}
    for name in ("gorm_tower.jpg", "gate.jpg"):
        [alone] = photo_items(photos / name)
        assert alone == whole[name]
    (photos / "sub" / "metadata.jsonl").write_text(json.dumps({"file_name": "gate.jpg", "height": "9 m"}))
    [alone] = photo_items(photos / "sub" / "gate.jpg")
    assert isinstance(alone, PhotoItem)
    assert (alone.item.attributes, alone.key) == ({"height": "9 m"}, "file:sub/gate.jpg")


def test_lines_about_one_photo_are_distinguished_by_entity(tmp_path: Path) -> None:
    lines = [{"photo": "a.jpg", "entity": entity} for entity in ("Mill", "Pond", "Mill")]
    files = {"a.jpg": "photo", "images.jsonl": "\n".join(map(json.dumps, lines))}
    manifest = folder(tmp_path / "museum", files) / "images.jsonl"
    items = list(photo_items(manifest))
    keys = [each.key for each in items if isinstance(each, PhotoItem)]
    assert keys == ["file:museum/images.jsonl/a.jpg", "file:museum/images.jsonl/a.jpg%232"]
    assert len(items) == 3
