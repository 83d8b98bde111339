"""Publish index versions, roll back, and change documents, over HTTP to a real text_search."""

import os
from pathlib import Path

import anyio
import anyio.to_thread
import httpx
import pytest
from typer.testing import CliRunner, Result

from chassis.errors import CollectionNotFound, DependencyUnavailable, NotFound
from chassis.http.calls import ServiceClient, http_client
from contracts.collections import PublishAlias
from contracts.documents import DocumentContent
from corpus.cli import app
from corpus.documents import DocumentIndex
from corpus.ingest import PAGES, IngestOptions, ingest_pages
from corpus.versions import Patience, list_versions, roll_back
from tests.unit.corpus.test_identity import folder, index, pages
from tests.unit.corpus.test_ingest import snippets, text_search


async def publish(client: httpx.AsyncClient, folder: Path, text: str) -> str:
    """An index of one page."""
    source = folder / "page.txt"
    source.write_text(text)
    report = await ingest_pages(source, str(client.base_url), IngestOptions(replace=True))
    assert report.version is not None
    return report.version


async def go_back(client: httpx.AsyncClient) -> tuple[str, str]:
    async with http_client() as http:
        service = ServiceClient(http, "text_search", str(client.base_url))
        return await roll_back(service, PAGES, Patience(pauses_s=()))


async def aliases(client: httpx.AsyncClient) -> dict[str, list[str]]:
    async with http_client() as http:
        service = ServiceClient(http, "text_search", str(client.base_url))
        return {each.name: each.aliases for each in await list_versions(service, Patience(pauses_s=()))}


def docs(path: Path) -> Path:
    return folder(
        path / "docs", {"mill.md": "# The mill\n\nIt is red.", "pond.md": "# The pond\n\nIt is deep."}
    )


async def run(url: httpx.URL | str, *arguments: str) -> Result:
    services = ("LOREGLASS_TEXT_SEARCH_URL", "LOREGLASS_IMAGE_SEARCH_URL")
    environment = {**dict.fromkeys(services, str(url)), "COLUMNS": "140"}
    return await anyio.to_thread.run_sync(lambda: CliRunner().invoke(app, arguments, env=environment))


async def test_replace_never_writes_into_the_published_version(tmp_path: Path) -> None:
    """Here by a change that neither the size nor the time of the file tells."""
    source = tmp_path / "page.txt"
    async with text_search(tmp_path) as client:
        first = await publish(client, tmp_path, "The red mill.")
        times = source.stat()
        source.write_text("The tan mill.")
        os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
        report = await ingest_pages(source, str(client.base_url), IngestOptions(replace=True))
        assert await snippets(client, "mill") == ["The tan mill."]
        assert await go_back(client) == (report.version, first)
        assert await snippets(client, "mill") == ["The red mill."]


async def test_rollback_twice_restores_the_version(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client:
        first = await publish(client, tmp_path, "The red mill.")
        second = await publish(client, tmp_path, "The blue mill.")
        assert await go_back(client) == (second, first)
        assert await snippets(client, "mill") == ["The red mill."]
        assert await go_back(client) == (first, second)
        assert await snippets(client, "mill") == ["The blue mill."]


async def test_rollback_needs_a_second_version(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client:
        with pytest.raises(CollectionNotFound):
            await go_back(client)
        await publish(client, tmp_path, "The red mill.")
        with pytest.raises(CollectionNotFound):
            await go_back(client)
        assert await snippets(client, "mill") == ["The red mill."]


async def test_new_version_replaces_the_rolled_back_one(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client:
        first = await publish(client, tmp_path, "The red mill.")
        await publish(client, tmp_path, "The blue mill.")
        await go_back(client)
        third = await publish(client, tmp_path, "The green mill.")
        assert await aliases(client) == {first: ["pages-previous"], third: ["pages"]}
        assert await go_back(client) == (third, first)


async def test_interrupted_rollback_is_complete_for_searches(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client:
        first = await publish(client, tmp_path, "The red mill.")
        await publish(client, tmp_path, "The blue mill.")
        only_step = PublishAlias(alias=PAGES, collection=first)
        await client.post("/v1/aliases", json=only_step.model_dump())
        assert await snippets(client, "mill") == ["The red mill."]
        with pytest.raises(CollectionNotFound):
            await go_back(client)
        assert await snippets(client, "mill") == ["The red mill."]


async def test_searches_go_on_through_publishing_and_going_back(tmp_path: Path) -> None:
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
            await ingest_pages(source, str(client.base_url), IngestOptions(patience=Patience(pauses_s=())))
        again = await ingest_pages(source, str(client.base_url), IngestOptions(replace=True))
        assert (again.version, again.indexed) == (second, 1)
        assert await snippets(client, "mill") == ["The blue mill."]


async def test_a_document_is_shown_as_it_is_searched(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client, http_client() as http:
        await index(client, docs(tmp_path))
        held = DocumentIndex(ServiceClient(http, "text_search", str(client.base_url)), "pages")
        shown = await held.show("file:docs/mill.md")
        listed = await held.find("POND")
        with pytest.raises(NotFound):
            await held.show("file:docs/none.md")
    assert shown == DocumentContent(
        address="file:docs/mill.md",
        source="docs",
        name="The mill",
        title="The mill",
        url="file:docs/mill.md",
        passages=["It is red."],
    )
    assert ([each.address for each in listed.documents], listed.total) == (["file:docs/pond.md"], 2)


async def test_what_is_removed_is_not_found_until_it_is_rolled_back(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client, http_client() as http:
        await index(client, docs(tmp_path))
        service = ServiceClient(http, "text_search", str(client.base_url))
        held = DocumentIndex(service, "pages")
        removed = [await held.remove(["file:docs/mill.md", "file:docs/none.md"]) for _ in range(2)]
        assert await snippets(client, "red") == []
        await roll_back(service, "pages", Patience())
        assert await snippets(client, "red") == ["It is red."]
        assert await held.remove(["file:docs/mill.md"]) == ["file:docs/mill.md"]
        assert await held.remove(source="docs") == ["file:docs/pond.md"]
        assert (await held.find()).total == 0
    assert removed == [["file:docs/mill.md"], []]


async def test_a_new_name_is_searched_and_lasts_until_the_file_changes(tmp_path: Path) -> None:
    source = docs(tmp_path)
    async with text_search(tmp_path) as client, http_client() as http:
        await index(client, source)
        held = DocumentIndex(ServiceClient(http, "text_search", str(client.base_url)), "pages")
        for _ in range(2):
            renamed = await held.rename("file:docs/mill.md", "Windmill of Aldren")
        assert (renamed.name, renamed.passages) == ("Windmill of Aldren", ["It is red."])
        assert await snippets(client, "aldren") == ["It is red."]
        assert (await index(client, source)).unchanged == 2
        assert (await held.show("file:docs/mill.md")).name == "Windmill of Aldren"
        folder(source, {"mill.md": "# The mill\n\nIt is blue."})
        assert (await index(client, source)).replaced == 1
        assert (await held.show("file:docs/mill.md")).name == "The mill"


async def test_a_version_that_readers_see_is_not_changed(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client:
        await index(client, docs(tmp_path))
        removal = {"addresses": ["file:docs/mill.md"]}
        renaming = {"address": "file:docs/mill.md", "name": "A mill"}
        for path, body in (("remove", removal), ("rename", renaming)):
            reply = await client.post(f"/v1/collections/pages/documents/{path}", json=body)
            assert reply.status_code == 409, reply.text
        assert len(await pages(client)) == 2


async def test_the_command_lists_shows_renames_and_removes(tmp_path: Path) -> None:
    async with text_search(tmp_path) as client:
        empty = await run(client.base_url, "list", "pages")
        await index(client, docs(tmp_path))
        listed = await run(client.base_url, "list", "pages", "--find", "pond")
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
