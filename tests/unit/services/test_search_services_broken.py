"""Errors of a search service on a full disk and with a broken index."""

import os
import uuid
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from chassis.resilience import room
from services.text_search.app import create_app
from services.text_search.settings import TextSearchSettings
from tests.live import live

pytestmark = pytest.mark.anyio


async def put(client: httpx.AsyncClient, version: str, text: str) -> httpx.Response:
    passage = {"id": str(uuid.uuid4()), "url": f"https://pages.example/{text}", "title": "", "text": text}
    return await client.put(f"/v1/collections/{version}/chunks", json={"chunks": [passage]})


async def publish(client: httpx.AsyncClient, version: str, text: str, *aliases: str) -> None:
    await client.post("/v1/collections", json={"name": version})
    await put(client, version, text)
    for alias in aliases:
        await client.post("/v1/aliases", json={"alias": alias, "collection": version})


async def search(client: httpx.AsyncClient, word: str) -> list[str]:
    body = {"queries": [word], "k": 3, "collection": "pages"}
    return [hit["snippet"] for hit in (await client.post("/v1/text-search", json=body)).json()["hits"]]


async def test_a_full_disk_is_a_507_with_what_to_do_and_searches_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free: Callable[[object], int] = lambda _: 5 * room.MIB  # noqa: E731
    async with live(create_app(TextSearchSettings(port=0, data_dir=tmp_path))) as client:
        await publish(client, "pages-1", "lighthouse", "pages")
        monkeypatch.setattr(room.Room, "free", free)
        refused = await put(client, "pages-1", "harbour")
        assert refused.status_code == 507
        assert refused.json()["type"] == "urn:loreglass:problem:storage_full"
        assert "make room" in refused.json()["detail"]
        assert await search(client, "lighthouse") == ["lighthouse"]
        ready = await client.get("/health/ready")
    assert ready.status_code == 200
    assert "nothing is indexed with less" in ready.json()["checks"]["engine"]


async def test_a_version_that_does_not_open_is_named_with_what_to_do(tmp_path: Path) -> None:
    settings = TextSearchSettings(port=0, data_dir=tmp_path)
    async with live(create_app(settings)) as client:
        await publish(client, "pages-1", "lighthouse", "pages-previous")
        await publish(client, "pages-2", "harbour", "pages")
    os.truncate(tmp_path / "collections" / "pages-2" / "schema.json", 0)
    async with live(create_app(settings)) as client:
        ready = await client.get("/health/ready")
        refused = await client.post("/v1/text-search", json={"queries": ["harbour"], "collection": "pages"})
        await client.post("/v1/aliases", json={"alias": "pages", "collection": "pages-1"})
        assert await search(client, "lighthouse") == ["lighthouse"]
    assert refused.status_code == 503
    for said in (refused.json()["detail"], ready.json()["checks"]["engine"]):
        assert "'pages-2' cannot be opened" in said
        assert "loreglass index rollback" in said
