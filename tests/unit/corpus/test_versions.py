"""Publish index versions, roll back, and change documents, over HTTP to a real text_search."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
from corpus.documents import DocumentIndex
from corpus.ingest import PAGES
from corpus.versions import Patience, list_versions, roll_back
from tests.unit.corpus.test_identity import folder, pages
from tests.unit.corpus.test_ingest import index_pages, snippets, text_search


async def publish(client: httpx.AsyncClient, folder: Path, text: str) -> str:
    """An index of one page."""
    source = folder / "page.txt"
    source.write_text(text)
    report = await index_pages(client, source, replace=True)
    assert report.version is not None
    return report.version


AT_ONCE = Patience(pauses_s=())


@asynccontextmanager
async def service_of(client: httpx.AsyncClient) -> AsyncIterator[ServiceClient]:
    async with http_client() as http:
        yield ServiceClient(http, "text_search", str(client.base_url))


async def go_back(client: httpx.AsyncClient) -> tuple[str, str]:
    async with service_of(client) as service:
        return await roll_back(service, PAGES, AT_ONCE)


def docs(path: Path) -> Path:
    return folder(
        path / "docs", {"mill.md": "# The mill\n\nIt is red.", "pond.md": "# The pond\n\nIt is deep."}
    )


async def run(url: httpx.URL | str, *arguments: str) -> Result:
    services = ("LOREGLASS_TEXT_SEARCH_URL", "LOREGLASS_IMAGE_SEARCH_URL")
    environment = {**dict.fromkeys(services, str(url)), "COLUMNS": "140"}
    return await anyio.to_thread.run_sync(lambda: CliRunner().invoke(app, arguments, env=environment))


async def test_replace_never_changes_the_published_version(tmp_path: Path) -> None:
    """Here by a change that neither the size nor the time of the file tells."""
    source = tmp_path / "page.txt"
    async with text_search(tmp_path) as client:
        first = await publish(client, tmp_path, "The red mill.")
        times = source.stat()
        source.write_text("The tan mill.")
        os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
        report = await index_pages(client, source, replace=True)
        assert await snippets(client, "mill") == ["The tan mill."]
        assert await go_back(client) == (report.version, first)
        assert await snippets(client, "mill") == ["The red mill."]


async def test_rollback_needs_a_second_version_and_twice_restores_the_version(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client:
        with pytest.raises(CollectionNotFound):
            await go_back(client)
        first = await publish(client, tmp_path, "The red mill.")
        with pytest.raises(CollectionNotFound):
            await go_back(client)
        assert await snippets(client, "mill") == ["The red mill."]
        second = await publish(client, tmp_path, "The blue mill.")
        assert await go_back(client) == (second, first)
        assert await snippets(client, "mill") == ["The red mill."]
        assert await go_back(client) == (first, second)
        assert await snippets(client, "mill") == ["The blue mill."]


async def test_new_version_replaces_the_rolled_back_one(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client:
        first = await publish(client, tmp_path, "The red mill.")
        await publish(client, tmp_path, "The blue mill.")
        await go_back(client)
        third = await publish(client, tmp_path, "The green mill.")
        async with service_of(client) as service:
            held = {each.name: each.aliases for each in await list_versions(service, AT_ONCE)}
        assert held == {first: ["pages-previous"], third: ["pages"]}
        assert await go_back(client) == (third, first)


async def test_searches_see_a_complete_interrupted_rollback(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client:
        first = await publish(client, tmp_path, "The red mill.")
        await publish(client, tmp_path, "The blue mill.")
        only_step = PublishAlias(alias=PAGES, collection=first)
        await client.post("/v1/aliases", json=only_step.model_dump())
        assert await snippets(client, "mill") == ["The red mill."]
        with pytest.raises(CollectionNotFound):
            await go_back(client)
        assert await snippets(client, "mill") == ["The red mill."]


async def test_searches_continue_during_publishing_and_rollback(tmp_path: Path) -> None:
    answers: list[list[str]] = []

    async def keep_asking(client: httpx.AsyncClient) -> None:
        while True:
            answers.append(await snippets(client, "mill"))

    async with text_search(tmp_path) as client:
        await publish(client, tmp_path, "The red mill.")
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(keep_asking, client)
            await publish(client, tmp_path, "The blue mill.")
            assert await snippets(client, "mill") == ["The blue mill."]
            await go_back(client)
            assert await snippets(client, "mill") == ["The red mill."]
            await publish(client, tmp_path, "The green mill.")
            assert await snippets(client, "mill") == ["The green mill."]
            group.cancel_scope.cancel()
    assert answers
    assert all(answer in (["The red mill."], ["The blue mill."], ["The green mill."]) for answer in answers)


async def test_list_and_rollback_commands(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client:
        first = await publish(client, tmp_path, "The red mill.")
        second = await publish(client, tmp_path, "The blue mill.")
        await client.post("/v1/collections", json={"name": "pages-half"})
        listed = await run(client.base_url, "list")
        option = ("--text-search-url", str(client.base_url))
        led = await run("http://127.0.0.1:9", "rollback", "pages", *option)
        assert await snippets(client, "mill") == ["The red mill."]
    rows = {line.split("│")[2].strip(): line for line in listed.output.splitlines() if "pages" in line}
    assert listed.exit_code == led.exit_code == 0
    assert "live" in rows[second]
    assert "previous" in rows[first]
    assert "incomplete" in rows["pages-half"]
    assert first in led.output


async def broken_index(folder: Path) -> tuple[str, str]:
    """Two versions, of which the published one does not open; both names."""
    async with text_search(folder) as client:
        first = await publish(client, folder, "The red mill.")
        second = await publish(client, folder, "The blue mill.")
    (folder / "vectors" / "collections" / second / "schema.json").write_text("{")
    return first, second


async def test_rollback_from_a_broken_version(tmp_path: Path) -> None:
    first, second = await broken_index(tmp_path)
    async with text_search(tmp_path) as client:
        health = await client.get("/health/ready")
        assert f"{second!r} cannot be opened" in health.text
        assert await go_back(client) == (second, first)
        assert await snippets(client, "mill") == ["The red mill."]


async def test_broken_version_needs_replace(tmp_path: Path) -> None:
    _, second = await broken_index(tmp_path)
    source = tmp_path / "page.txt"
    async with text_search(tmp_path) as client:
        with pytest.raises(DependencyUnavailable, match="--replace"):
            await index_pages(client, source, patience=AT_ONCE)
        again = await index_pages(client, source, replace=True)
        assert (again.version, again.indexed) == (second, 1)
        assert await snippets(client, "mill") == ["The blue mill."]


async def test_removed_document_is_found_again_after_rollback(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client, service_of(client) as service:
        await index_pages(client, docs(tmp_path))
        held = DocumentIndex(service, "pages")
        removed = [await held.remove(["file:docs/mill.md", "file:docs/none.md"]) for _ in range(2)]
        assert await snippets(client, "red") == []
        await roll_back(service, "pages", Patience())
        assert await snippets(client, "red") == ["It is red."]
        assert await held.remove(["file:docs/mill.md"]) == ["file:docs/mill.md"]
        assert await held.remove(source="docs") == ["file:docs/pond.md"]
        assert (await held.find()).total == 0
    assert removed == [["file:docs/mill.md"], []]


async def test_renamed_document_keeps_its_name_until_the_file_changes(tmp_path: Path) -> None:
    source = docs(tmp_path)
    address = "file:docs/mill.md"
    async with text_search(tmp_path) as client, service_of(client) as service:
        await index_pages(client, source)
        held = DocumentIndex(service, "pages")
        for _ in range(2):
            renamed = await held.rename(address, "Windmill of Aldren")
        assert (renamed.source, renamed.url, renamed.passages) == ("docs", address, ["It is red."])
        assert (renamed.name, renamed.title) == ("Windmill of Aldren", "Windmill of Aldren")
        assert await snippets(client, "aldren") == ["It is red."]
        assert (await index_pages(client, source)).unchanged == 2
        assert (await held.show("file:docs/mill.md")).name == "Windmill of Aldren"
        folder(source, {"mill.md": "# The mill\n\nIt is blue."})
        assert (await index_pages(client, source)).replaced == 1
        assert (await held.show("file:docs/mill.md")).name == "The mill"


async def test_published_version_is_not_changed(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client:
        await index_pages(client, docs(tmp_path))
        removal = {"addresses": ["file:docs/mill.md"]}
        renaming = {"address": "file:docs/mill.md", "name": "A mill"}
        for path, body in (("remove", removal), ("rename", renaming)):
            reply = await client.post(f"/v1/collections/pages/documents/{path}", json=body)
            assert reply.status_code == 409, reply.text
        assert len(await pages(client)) == 2


async def test_the_command_lists_shows_renames_and_removes(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client:
        empty = await run(client.base_url, "list", "pages")
        await index_pages(client, docs(tmp_path))
        listed = await run(client.base_url, "list", "pages", "--find", "POND")
        shown = await run(client.base_url, "show", "pages", "file:docs/pond.md")
        renamed = await run(client.base_url, "rename", "pages", "file:docs/pond.md", "A pond")
        removed = await run(client.base_url, "remove", "pages", "file:docs/pond.md")
        gone = await run(client.base_url, "show", "pages", "file:docs/pond.md")
        again = await run(client.base_url, "remove", "pages", "file:docs/pond.md")
        nothing = await run(client.base_url, "remove", "pages")
    assert [each.exit_code for each in (empty, listed, shown, renamed, removed, gone, again, nothing)] == (
        [0, 0, 0, 0, 0, 1, 0, 2]
    )
    assert "Shown: 1 of 1. In the index: 2." in listed.output
    assert "file:docs/pond.md" in listed.output
    assert "It is deep." in shown.output
    assert "name: A pond" in renamed.output
    assert "Removed 1 of pages." in removed.output
    assert "no document with this address" in gone.output
    assert "nothing to remove" in again.output
