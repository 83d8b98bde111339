"""Publish index versions and roll back, over HTTP to a real text_search."""

import os
from pathlib import Path

import anyio
import anyio.to_thread
import httpx
import pytest
from typer.testing import CliRunner, Result

from chassis.errors import CollectionNotFound, DependencyUnavailable
from chassis.http.calls import ServiceClient, http_client
from contracts.collections import PublishAlias
from corpus.cli import app
from corpus.ingest import PAGES, IngestOptions, ingest_pages
from corpus.versions import Patience, list_versions, roll_back
from services.text_search.app import create_app
from services.text_search.settings import TextSearchSettings
from tests.live import live

pytestmark = pytest.mark.anyio


def text_search(folder: Path) -> TextSearchSettings:
    return TextSearchSettings(port=0, data_dir=folder / "vectors")


async def publish(client: httpx.AsyncClient, folder: Path, text: str) -> str:
    """An index of one page."""
    source = folder / "page.txt"
    source.write_text(text)
    report = await ingest_pages(source, str(client.base_url), IngestOptions(replace=True))
    assert report.version is not None
    return report.version


async def snippets(client: httpx.AsyncClient) -> list[str]:
    reply = await client.post("/v1/text-search", json={"queries": ["mill"]})
    assert reply.status_code == 200, reply.text
    return [hit["snippet"] for hit in reply.json()["hits"]]


async def go_back(client: httpx.AsyncClient) -> tuple[str, str]:
    async with http_client() as http:
        service = ServiceClient(http, "text_search", str(client.base_url))
        return await roll_back(service, PAGES, Patience(pauses_s=()))


async def aliases(client: httpx.AsyncClient) -> dict[str, list[str]]:
    async with http_client() as http:
        service = ServiceClient(http, "text_search", str(client.base_url))
        return {each.name: each.aliases for each in await list_versions(service, Patience(pauses_s=()))}


async def test_replace_never_writes_into_the_published_version(tmp_path: Path) -> None:
    """Here by a change that neither the size nor the time of the file tells."""
    source = tmp_path / "page.txt"
    async with live(create_app(text_search(tmp_path))) as client:
        first = await publish(client, tmp_path, "The red mill.")
        times = source.stat()
        source.write_text("The tan mill.")
        os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
        report = await ingest_pages(source, str(client.base_url), IngestOptions(replace=True))
        assert await snippets(client) == ["The tan mill."]
        assert await go_back(client) == (report.version, first)
        assert await snippets(client) == ["The red mill."]


async def test_rollback_twice_restores_the_version(tmp_path: Path) -> None:
    async with live(create_app(text_search(tmp_path))) as client:
        first = await publish(client, tmp_path, "The red mill.")
        second = await publish(client, tmp_path, "The blue mill.")
        assert await go_back(client) == (second, first)
        assert await snippets(client) == ["The red mill."]
        assert await go_back(client) == (first, second)
        assert await snippets(client) == ["The blue mill."]


async def test_rollback_needs_a_second_version(tmp_path: Path) -> None:
    async with live(create_app(text_search(tmp_path))) as client:
        with pytest.raises(CollectionNotFound):
            await go_back(client)
        await publish(client, tmp_path, "The red mill.")
        with pytest.raises(CollectionNotFound):
            await go_back(client)
        assert await snippets(client) == ["The red mill."]


async def test_new_version_replaces_the_rolled_back_one(tmp_path: Path) -> None:
    async with live(create_app(text_search(tmp_path))) as client:
        first = await publish(client, tmp_path, "The red mill.")
        await publish(client, tmp_path, "The blue mill.")
        await go_back(client)
        third = await publish(client, tmp_path, "The green mill.")
        assert await aliases(client) == {first: ["pages-previous"], third: ["pages"]}
        assert await go_back(client) == (third, first)


async def test_interrupted_rollback_is_complete_for_searches(tmp_path: Path) -> None:
    async with live(create_app(text_search(tmp_path))) as client:
        first = await publish(client, tmp_path, "The red mill.")
        await publish(client, tmp_path, "The blue mill.")
        only_step = PublishAlias(alias=PAGES, collection=first)
        await client.post("/v1/aliases", json=only_step.model_dump())
        assert await snippets(client) == ["The red mill."]
        with pytest.raises(CollectionNotFound):
            await go_back(client)
        assert await snippets(client) == ["The red mill."]


async def test_searches_go_on_through_publishing_and_going_back(tmp_path: Path) -> None:
    answers: list[list[str]] = []

    async def keep_asking(client: httpx.AsyncClient) -> None:
        while True:
            answers.append(await snippets(client))

    async with live(create_app(text_search(tmp_path))) as client:
        await publish(client, tmp_path, "The red mill.")
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(keep_asking, client)
            await publish(client, tmp_path, "The blue mill.")
            assert await snippets(client) == ["The blue mill."]
            await go_back(client)
            assert await snippets(client) == ["The red mill."]
            await publish(client, tmp_path, "The green mill.")
            assert await snippets(client) == ["The green mill."]
            group.cancel_scope.cancel()
    assert answers
    assert all(answer in (["The red mill."], ["The blue mill."], ["The green mill."]) for answer in answers)


async def run(monkeypatch: pytest.MonkeyPatch, url: str, *arguments: str) -> Result:
    monkeypatch.setenv("LOREGLASS_TEXT_SEARCH_URL", url)
    monkeypatch.setenv("LOREGLASS_IMAGE_SEARCH_URL", url)
    monkeypatch.setenv("COLUMNS", "140")
    return await anyio.to_thread.run_sync(CliRunner().invoke, app, arguments)


async def test_list_and_rollback_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with live(create_app(text_search(tmp_path))) as client:
        first = await publish(client, tmp_path, "The red mill.")
        second = await publish(client, tmp_path, "The blue mill.")
        await client.post("/v1/collections", json={"name": "pages-half"})
        listed = await run(monkeypatch, str(client.base_url), "list")
        option = ("--text-search-url", str(client.base_url))
        led = await run(monkeypatch, "http://127.0.0.1:9", "rollback", "pages", *option)
        assert await snippets(client) == ["The red mill."]
    rows = {line.split("│")[2].strip(): line for line in listed.output.splitlines() if "pages" in line}
    assert listed.exit_code == led.exit_code == 0
    assert "live" in rows[second]
    assert "previous" in rows[first]
    assert "incomplete" in rows["pages-half"]
    assert first in led.output


async def broken_index(folder: Path) -> tuple[str, str]:
    """Two versions, of which the published one does not open; both names."""
    async with live(create_app(text_search(folder))) as client:
        first = await publish(client, folder, "The red mill.")
        second = await publish(client, folder, "The blue mill.")
    (folder / "vectors" / "collections" / second / "schema.json").write_text("{")
    return first, second


async def test_rollback_from_a_broken_version(tmp_path: Path) -> None:
    first, second = await broken_index(tmp_path)
    async with live(create_app(text_search(tmp_path))) as client:
        health = await client.get("/health/ready")
        assert f"{second!r} cannot be opened" in health.text
        assert await go_back(client) == (second, first)
        assert await snippets(client) == ["The red mill."]


async def test_broken_version_needs_replace(tmp_path: Path) -> None:
    _, second = await broken_index(tmp_path)
    source = tmp_path / "page.txt"
    async with live(create_app(text_search(tmp_path))) as client:
        with pytest.raises(DependencyUnavailable, match="--replace"):
            await ingest_pages(source, str(client.base_url), IngestOptions(patience=Patience(pauses_s=())))
        again = await ingest_pages(source, str(client.base_url), IngestOptions(replace=True))
        assert (again.version, again.indexed) == (second, 1)
        assert await snippets(client) == ["The blue mill."]
