"""`/v1/documents`, `/v1/search`, `/v1/things`: an operator changes documents, callers look them up."""

import json
from pathlib import Path

import httpx
import pytest

from chassis.keys import ApiKey
from clients.keys import entry
from loreglass_client import AsyncLoreglass, LoreglassError
from tests.deploy.operating import Operated, cover, operated
from tests.deploy.test_operator import MILL

PAGES, IMAGES = "/v1/documents/pages", "/v1/documents/images"


async def put(here: Operated, index: str, address: str, content: bytes, **known: str) -> httpx.Response:
    data = {"metadata": json.dumps(known)} if known else {}
    files = {"file": ("x", content)}
    return await here.client.put(f"{index}/document", params={"address": address}, files=files, data=data)


async def test_a_page_is_added_replaced_renamed_and_removed(tmp_path: Path) -> None:
    address = {"address": "file:docs/visit/mill.md"}
    async with operated(tmp_path) as here:
        outcomes = [
            (await put(here, PAGES, address["address"], content)).json()["outcome"]
            for content in (MILL, MILL, b"# Mill\n\nThe mill is blue.")
        ]
        call, name = here.client.request, {"name": "A mill"}
        listed = (await call("GET", PAGES, params={"q": "MILL"})).json()
        shown = (await call("GET", f"{PAGES}/document", params=address)).json()
        named = [await call("PATCH", f"{PAGES}/document", params=address, json=name) for _ in range(2)]
        removed = [(await call("DELETE", f"{PAGES}/document", params=address)).json() for _ in range(2)]
        missing = await call("GET", f"{PAGES}/document", params=address)
    assert outcomes == ["added", "unchanged", "replaced"]
    assert [each["address"] for each in listed["documents"]] == list(address.values())
    assert (shown["source"], shown["passages"]) == ("docs", ["The mill is blue."])
    assert [each.json()["name"] for each in named] == ["A mill", "A mill"]
    assert removed == [{"addresses": list(address.values())}, {"addresses": []}]
    assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")


async def test_facts_of_a_photo_are_corrected_and_its_thing_is_renamed(tmp_path: Path) -> None:
    address = "file:towers/gorm_tower.jpg"
    async with operated(tmp_path) as here:
        for height in ("330 m", "331 m"):
            reply = await put(here, IMAGES, address, cover(5), height=height)
        place, name = {"address": address}, {"name": "Gorm Mast"}
        renamed = await here.client.patch(f"{IMAGES}/document", params=place, json=name)
        listed = (await here.client.get(IMAGES)).json()
        await here.client.delete(IMAGES, params={"source": "towers"})
        empty = (await here.client.get(IMAGES)).json()
    assert reply.json()["outcome"] == "replaced"
    assert reply.json()["document"]["attributes"] == {"height": "331 m"}
    assert (renamed.json()["name"], renamed.json()["attributes"]) == ("Gorm Mast", {"height": "331 m"})
    assert (listed["parts"], [each["name"] for each in listed["documents"]]) == (1, ["Gorm Mast"])
    assert empty["total"] == 0


async def test_invalid_addresses_content_and_queries_are_refused(
    tmp_path: Path,
) -> None:
    async with operated(tmp_path) as here:
        for address in ("https://a.example", "file:a.md", "file:a/../b.md", "file:a/.b.md", "file:"):
            assert (await put(here, PAGES, address, MILL)).status_code == 422, address
        reply = await put(here, PAGES, "file:a/b.md", b"\x7fELF" + bytes(400))
        assert (reply.status_code, (await here.client.get(PAGES)).json()["total"]) == (422, 0)
        for query in ("search", "search?q=", "search?q=a&limit=21", "things?name=", "things?name=a&limit=0"):
            assert (await here.client.get(f"/v1/{query}")).status_code == 422, query
    assert "something else than text" in reply.json()["detail"]


async def test_index_changes_need_an_operator_and_no_running_job(tmp_path: Path) -> None:
    async with operated(tmp_path) as here:
        with here.indexing.changing_index():
            busy = await put(here, PAGES, "file:a/b.md", MILL)
        async with here.from_afar() as stranger:
            refused = [
                (await stranger.request(method, f"{PAGES}/document", params={"address": "file:a/b.md"}))
                for method in ("GET", "PUT", "PATCH", "DELETE")
            ]
    assert busy.status_code == 409
    assert {each.status_code for each in refused} == {401}


FACTS = (
    {"file_name": "a.jpg", "entity": "Gorm Tower", "height": "98 m"},
    {"file_name": "b.jpg", "entity": "Gorm Tower", "height": "98 m"},
    {"file_name": "c.jpg", "entity": "Old Gorm Tower Inn", "built": "1702"},
)


async def test_passages_come_with_their_source_and_things_with_the_exact_name_first(tmp_path: Path) -> None:
    async with operated(tmp_path) as here, AsyncLoreglass(str(here.client.base_url)) as client:
        before = [await client.search("mill"), await client.look_up("gorm")]
        await here.hand_over("metadata.jsonl", "\n".join(map(json.dumps, FACTS)).encode())
        for number, facts in enumerate(FACTS):
            await here.hand_over(facts["file_name"], cover(number))
        await here.hand_over("mill.md", MILL)
        await here.hand_over("pond.md", b"# The pond\n\nThe pond is six metres deep.")
        await here.index()
        [passage] = await client.search("Who built the mill?", limit=1)
        things = await client.look_up("gorm TOWER")
        nearest = await client.look_up("gorm tower", limit=1)
        none = await client.look_up("uploads")  # a part of every address, and of no name
    assert before == [[], []]
    assert (passage.title, passage.url) == ("The Old Mill", "file:uploads/mill.md")
    assert "Ada Brook" in passage.text
    assert [(each.name, each.facts) for each in things] == [
        ("Gorm Tower", {"height": "98 m"}),
        ("Old Gorm Tower Inn", {"built": "1702"}),
    ]
    assert [each.name for each in nearest] == ["Gorm Tower"]
    assert none == []


async def test_search_requires_a_key_if_questions_do(tmp_path: Path) -> None:
    keys, key = tmp_path / "keys.toml", ApiKey.new()
    keys.write_text(entry(key, "acme", "interactive"))
    async with operated(tmp_path, keys=keys) as here:
        url = str(here.client.base_url)
        async with AsyncLoreglass(url) as stranger, AsyncLoreglass(url, key.text) as client:
            for call in (stranger.search("mill"), stranger.look_up("mill")):
                with pytest.raises(LoreglassError, match="Send a key"):
                    await call
            assert await client.search("mill") == []
