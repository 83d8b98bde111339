"""`loreglass mcp` before a real platform without a model, used by the client of the official SDK."""

import base64
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.settings import ROOT, environment
from corpus.ingest import IngestOptions, ingest_pages, ingest_photos
from deploy.one_process import platform
from deploy.settings import LiteSettings
from tests.deploy.operating import cover

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp import Client, StdioServerParameters

THING = "Kelasta Cherry Honey Granola"  # as is printed on it
PAGE = "# The Old Mill\n\nThe Old Mill was built in 1887 by Ada Brook."


@asynccontextmanager
async def assistant(gateway_url: str) -> AsyncIterator[Client]:
    words = ["-m", "clients", "mcp", "--gateway", gateway_url]
    server = StdioServerParameters(command=sys.executable, args=words, env=environment({}))
    async with Client(server) as client:
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """Whether it failed, and what the tool returned or said."""
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        return True, result.content[0].text
    content = result.structured_content
    return False, content.get("result", content)


async def test_mcp_tools_ask_search_and_find_entities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    photos, docs = tmp_path / "photos", tmp_path / "docs"
    photos.mkdir()
    docs.mkdir()
    (docs / "mill.md").write_text(PAGE)
    photo = photos / "box.jpg"
    photo.write_bytes(cover(5))
    facts = {"file_name": photo.name, "entity": THING, "weight": "98 g"}
    (photos / "metadata.jsonl").write_text(json.dumps(facts))
    (tmp_path / "secret.txt").write_text("secret")
    settings = LiteSettings(port=0, service_port=0, data_dir=tmp_path / "data")
    async with platform(settings) as running:
        urls = running.service_urls
        await ingest_pages(docs, urls["text_search"], IngestOptions())
        await ingest_photos(photos, urls["image_search"], IngestOptions())
        async with assistant(running.gateway_url) as client:
            tools = {each.name for each in (await client.list_tools()).tools}
            answered = await call(client, "ask", question="Who built the Old Mill?", deadline_ms=30_000)
            encoded = base64.b64encode(cover(5)).decode()
            seen = [
                await call(client, "ask", question="How heavy is this?", deadline_ms=60_000, **given)
                for given in ({"image_path": str(photo)}, {"image_base64": encoded})
            ]
            passages = await call(client, "search", query="mill", limit=3)
            things = await call(client, "look_up", name="honey granola")
            no_photos = [{"image_path": str(tmp_path / "secret.txt")}]
            for wrong in ("https://example.org/a.jpg", "###", base64.b64encode(b"no photo").decode()):
                no_photos.append({"image_base64": wrong})
            refused = [await call(client, "ask", question="What is this?", **each) for each in no_photos]
    assert tools == {"ask", "search", "look_up"}
    assert (answered[0], answered[1]["abstained"]) == (False, False)
    assert "Ada Brook" in answered[1]["answer"]
    assert answered[1]["sources"][0]["url"] == "file:docs/mill.md"
    assert [(failed, reply["thing"]) for failed, reply in seen] == [(False, THING)] * 2
    assert [each["title"] for each in passages[1]] == ["The Old Mill"]
    assert "Ada Brook" in passages[1][0]["text"]
    assert [(each["name"], each["facts"]["weight"]) for each in things[1]] == [(THING, "98 g")]
    assert [failed for failed, _ in refused] == [True] * 4
    assert "no photo with this path" in refused[0][1]
    assert "Image URLs are off" in refused[1][1]


async def test_unreachable_platform_is_an_error_with_its_address() -> None:
    async with assistant("http://127.0.0.1:9") as client:
        failed, words = await call(client, "ask", question="What is this?", deadline_ms=1_000)
    assert failed
    assert "http://127.0.0.1:9" in words


def test_without_the_package_the_command_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "mcp.py").write_text("raise ModuleNotFoundError(name='mcp')")
    path = f"{tmp_path}:{ROOT}:{ROOT / 'proto'}"
    command, variables = [sys.executable, "-m", "clients", "mcp"], environment({"PYTHONPATH": path})
    result = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    assert 'pip install "loreglass[pocket,mcp]"' in result.stderr
