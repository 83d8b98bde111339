"""Calls of image_search over HTTP."""

import json
import uuid
from typing import Any

import httpx
from PIL import Image

from chassis.rgb import RGB
from tests.unit.chassis.pictures import encoded


def jpeg(photo: RGB) -> bytes:
    return encoded(Image.fromarray(photo), "JPEG", quality=95)


def item(entity: str, **fields: Any) -> dict[str, Any]:
    return {"id": str(uuid.uuid5(uuid.NAMESPACE_OID, entity)), "entity": entity, **fields}


async def put(
    client: httpx.AsyncClient, photos: list[bytes], items: list[dict[str, Any]], name: str = "images-1"
) -> httpx.Response:
    files = [("images", ("x", photo, "application/octet-stream")) for photo in photos]
    data = {"items": json.dumps({"items": items})}
    return await client.put(f"/v1/collections/{name}/images", files=files, data=data)


async def fill(client: httpx.AsyncClient, things: dict[str, RGB]) -> httpx.Response:
    """Index and publish `things`, by the names of their entities."""
    await client.post("/v1/collections", json={"name": "images-1"})
    reply = await put(client, [jpeg(photo) for photo in things.values()], [item(name) for name in things])
    await client.post("/v1/aliases", json={"alias": "images", "collection": "images-1"})
    return reply


async def search(client: httpx.AsyncClient, *photos: bytes, **fields: str) -> httpx.Response:
    files = [("images", ("photo.jpg", photo, "image/jpeg")) for photo in photos]
    return await client.post("/v1/image-search", files=files, data=fields)
