"""Documents of a published index are listed, shown, removed and renamed; each change can be taken back."""

from pathlib import Path

import anyio.to_thread
import httpx
import pytest
from typer.testing import CliRunner, Result

from chassis.errors import NotFound
from chassis.http.calls import ServiceClient, http_client
from contracts.documents import DocumentContent
from corpus.cli import app
from corpus.documents import DocumentIndex
from corpus.versions import Patience, roll_back
from tests.unit.corpus.test_identity import folder, index, pages
from tests.unit.corpus.test_ingest import snippets, text_search

pytestmark = pytest.mark.anyio


def docs(path: Path) -> Path:
    return folder(
        path / "docs", {"mill.md": "# The mill\n\nIt is red.", "pond.md": "# The pond\n\nIt is deep."}
    )


async def run(client: httpx.AsyncClient, *arguments: str) -> Result:
    environment = {"LOREGLASS_TEXT_SEARCH_URL": str(client.base_url), "COLUMNS": "120"}
    return await anyio.to_thread.run_sync(lambda: CliRunner().invoke(app, arguments, env=environment))


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
        empty = await run(client, "list", "pages")
        await index(client, docs(tmp_path))
        listed = await run(client, "list", "pages", "--find", "pond")
        shown = await run(client, "show", "pages", "file:docs/pond.md")
        renamed = await run(client, "rename", "pages", "file:docs/pond.md", "A pond")
        removed = await run(client, "remove", "pages", "file:docs/pond.md")
        gone = await run(client, "show", "pages", "file:docs/pond.md")
        again = await run(client, "remove", "pages", "file:docs/pond.md")
        nothing = await run(client, "remove", "pages")
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
