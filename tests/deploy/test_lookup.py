"""`GET /v1/search` and `GET /v1/things`, by the Python client and by strangers."""

import json
from pathlib import Path

import pytest

from chassis.keys import ApiKey
from clients.keys import entry
from loreglass_client import AsyncLoreglass, LoreglassError
from tests.deploy.operating import Operated, cover, operated

pytestmark = pytest.mark.anyio

FACTS = (
    {"file_name": "a.jpg", "entity": "Gorm Tower", "height": "98 m"},
    {"file_name": "b.jpg", "entity": "Gorm Tower", "height": "98 m"},
    {"file_name": "c.jpg", "entity": "Old Gorm Tower Inn", "built": "1702"},
)


async def fill(here: Operated) -> None:
    await here.hand_over("metadata.jsonl", "\n".join(map(json.dumps, FACTS)).encode())
    for number, facts in enumerate(FACTS):
        await here.hand_over(facts["file_name"], cover(number))
    await here.hand_over("mill.md", b"# The Old Mill\n\nThe Old Mill was built in 1887 by Ada Brook.")
    await here.hand_over("pond.md", b"# The pond\n\nThe pond is six metres deep.")
    await here.index()


async def test_passages_come_with_their_source_and_things_with_the_exact_name_first(tmp_path: Path) -> None:
    async with operated(tmp_path) as here, AsyncLoreglass(str(here.client.base_url)) as client:
        before = [await client.search("mill"), await client.look_up("gorm")]
        await fill(here)
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


async def test_a_key_is_needed_where_asking_needs_one(tmp_path: Path) -> None:
    keys, key = tmp_path / "keys.toml", ApiKey.new()
    keys.write_text(entry(key, "acme", "interactive"))
    async with operated(tmp_path, keys=keys) as here:
        url = str(here.client.base_url)
        async with AsyncLoreglass(url) as stranger, AsyncLoreglass(url, key.text) as client:
            for call in (stranger.search("mill"), stranger.look_up("mill")):
                with pytest.raises(LoreglassError, match="Send a key"):
                    await call
            assert await client.search("mill") == []


async def test_queries_out_of_their_limits_are_refused(tmp_path: Path) -> None:
    async with operated(tmp_path) as here:
        for query in ("search", "search?q=", "search?q=a&limit=21", "things?name=", "things?name=a&limit=0"):
            assert (await here.client.get(f"/v1/{query}")).status_code == 422, query
