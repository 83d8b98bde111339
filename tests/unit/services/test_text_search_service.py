"""text_search and its collection routes over HTTP."""

import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.text_search.app import create_app
from services.text_search.settings import TextSearchSettings
from tests.live import live

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings(tmp_path: Path) -> TextSearchSettings:
    return TextSearchSettings(port=0, data_dir=tmp_path / "vectors")


def chunk(text: str, **fields: Any) -> dict[str, Any]:
    identity = str(uuid.uuid5(uuid.NAMESPACE_URL, text))
    return {"id": identity, "url": f"https://pages.example/{identity}", "title": "", "text": text, **fields}


async def publish(client: httpx.AsyncClient, version: str, chunks: list[dict[str, Any]]) -> None:
    assert (await client.post("/v1/collections", json={"name": version})).status_code == 200
    reply = await client.put(f"/v1/collections/{version}/chunks", json={"chunks": chunks})
    assert reply.json() == {"indexed": len(chunks), "rejected": {}}
    await client.post("/v1/aliases", json={"alias": "pages", "collection": version})


async def test_a_published_page_is_found_with_all_that_is_known_of_it(settings: TextSearchSettings) -> None:
    written = chunk("The lamp was lit in 1911.", title="Lighthouse", last_modified="2024-05-01T00:00:00Z")
    async with live(create_app(settings)) as client:
        await publish(client, "pages-1", [written])
        reply = await client.post("/v1/text-search", json={"queries": ["When was the lamp lit?"]})
    assert reply.json() == {
        "hits": [
            {
                "id": written["id"],
                "url": written["url"],
                "title": "Lighthouse",
                "snippet": written["text"],
                "last_modified": "2024-05-01T00:00:00Z",
                "score": pytest.approx(1 / 61),
                "query_indexes": [0],
                "sections": [],
            }
        ],
        "collection": "pages",
    }


async def test_pages_are_read_whole_in_their_order(settings: TextSearchSettings) -> None:
    first, second = ("https://pages.example/a", "https://pages.example/b")
    parts = [chunk(f"Part {number}.", url=first, position=number) for number in (2, 0, 1)]
    async with live(create_app(settings)) as client:
        await publish(client, "pages-1", [*parts, chunk("Another page.", url=second)])
        asked = {"addresses": [second, first, "https://pages.example/none"], "k": 3}
        reply = await client.post("/v1/text-search/pages", json=asked)
    assert [hit["snippet"] for hit in reply.json()["hits"]] == ["Another page.", "Part 0.", "Part 1."]


async def test_searches_use_the_published_version(settings: TextSearchSettings) -> None:
    async def texts() -> list[str]:
        reply = await client.post("/v1/text-search", json={"queries": ["harbour"]})
        return [hit["snippet"] for hit in reply.json()["hits"]]

    async with live(create_app(settings)) as client:
        await publish(client, "pages-1", [chunk("The old harbour.")])
        await client.post("/v1/collections", json={"name": "pages-2", "base": "pages"})
        await client.put("/v1/collections/pages-2/chunks", json={"chunks": [chunk("The new harbour.")]})
        assert await texts() == ["The old harbour."]
        await client.post("/v1/aliases", json={"alias": "pages", "collection": "pages-2"})
        assert sorted(await texts()) == ["The new harbour.", "The old harbour."]


async def test_versions_are_listed_and_old_ones_dropped(settings: TextSearchSettings) -> None:
    async with live(create_app(settings)) as client:
        for version in ["pages-1", "pages-2"]:
            await publish(client, version, [chunk(version)])
        listed = (await client.get("/v1/collections")).json()
        refused = await client.delete("/v1/collections/pages-2")
        dropped = await client.delete("/v1/collections/pages-1")
    assert listed["collections"] == [
        {"name": "pages-1", "points": 1, "aliases": [], "finished": [], "fault": ""},
        {"name": "pages-2", "points": 1, "aliases": ["pages"], "finished": [], "fault": ""},
    ]
    assert (refused.status_code, dropped.status_code) == (409, 200)
    assert [each["name"] for each in dropped.json()["collections"]] == ["pages-2"]


async def test_invalid_requests_are_refused(settings: TextSearchSettings) -> None:
    search, chunks, missing, invalid = (
        "/v1/text-search", "/v1/collections/none/chunks", "collection_not_found", "invalid_request",
    )  # fmt: skip
    cases: list[tuple[str, str, Any, str]] = [
        ("POST", search, {"queries": ["harbour"]}, missing),
        ("POST", search, {"queries": ["x"], "collection": "../x"}, missing),
        ("POST", search, {"queries": []}, invalid),
        ("POST", search, {"queries": ["x"], "k": 0}, invalid),
        ("PUT", chunks, {"chunks": [chunk("x")]}, missing),
        ("PUT", chunks, {"chunks": []}, invalid),
        ("POST", "/v1/collections", {"name": "No"}, invalid),
        ("POST", "/v1/collections/none/missing", {"ids": ["7"]}, invalid),
        ("POST", "/v1/collections", {"name": "a", "base": "none"}, missing),
        ("POST", "/v1/aliases", {"alias": "pages", "collection": "none"}, missing),
        ("DELETE", "/v1/collections/none", None, missing),
    ]
    async with live(create_app(settings)) as client:
        for method, path, body, kind in cases:
            reply = await client.request(method, path, json=body)
            assert reply.json()["type"] == f"urn:loreglass:problem:{kind}", (path, body)
