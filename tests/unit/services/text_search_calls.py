"""Passages, settings, and calls of text_search over HTTP."""

import uuid
from pathlib import Path
from typing import Any

import httpx

from services.text_search.engine import Passage
from services.text_search.settings import Engine, TextSearchSettings
from tests.unit.services.model_server import KEY, MODEL


def passage(text: str, url: str = "", title: str = "", position: int = 0) -> Passage:
    """A passage whose id is made from what it holds."""
    identity = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{url}|{title}|{position}|{text}"))
    return Passage(identity, url or f"https://pages.example/{identity}", title, text, position)


def chunk(text: str, **fields: Any) -> dict[str, Any]:
    """A passage that is a page of its own."""
    identity = str(uuid.uuid5(uuid.NAMESPACE_URL, text))
    return {"id": identity, "url": f"https://pages.example/{identity}", "title": "", "text": text, **fields}


def remote_settings(folder: Path, url: str, **fields: Any) -> TextSearchSettings:
    """Return settings of text_search with its encoder on the `ModelServer` at `url`."""
    fields = {"remote_url": url, "remote_model": MODEL, "remote_key": KEY, **fields}
    return TextSearchSettings(port=0, data_dir=folder, engine=Engine.REMOTE, **fields)


async def publish(client: httpx.AsyncClient, version: str, chunks: list[dict[str, Any]]) -> None:
    """Index the passages in a new version, which searches see."""
    assert (await client.post("/v1/collections", json={"name": version})).status_code == 200
    reply = await client.put(f"/v1/collections/{version}/chunks", json={"chunks": chunks})
    assert reply.json() == {"indexed": len(chunks), "rejected": {}}
    await client.post("/v1/aliases", json={"alias": "pages", "collection": version})
