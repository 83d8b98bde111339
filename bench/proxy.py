"""`python -m bench.proxy TRANSPORT SERVICES_URL`: the least that could do the gateway's calls.

It takes the same form and makes the same calls in the same order as the gateway does for a question that the
photo's text answers: OCR beside image search, then the domain router with what was read. It checks nothing,
decodes no photo, decides nothing, keeps no deadline, trace, session, metric or log.
"""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import anyio
import httpx
from httpx_aiohttp import AiohttpTransport
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bench.serving import announced
from chassis.http.serving import listen

Post = Callable[[str, dict[str, str], bytes | None], Awaitable[Any]]
"""(path, fields, photo) -> the reply's JSON; the photo's part is `image`, or `images` for image search."""

TRANSPORTS = ("httpx", "httpx-aiohttp", "aiohttp")


@asynccontextmanager
async def posting(transport: str, url: str) -> AsyncIterator[Post]:
    """Calls by one of `TRANSPORTS`."""
    if transport == "aiohttp":
        async with aiohttp.ClientSession() as session:
            yield _by_aiohttp(session, url)
        return
    limits = httpx.Limits(max_connections=100, keepalive_expiry=3.0)
    faster = AiohttpTransport(limits=limits) if transport == "httpx-aiohttp" else None
    async with httpx.AsyncClient(transport=faster, limits=limits, timeout=None) as client:
        yield _by_httpx(client, url)


def _by_httpx(client: httpx.AsyncClient, url: str) -> Post:
    async def post(path: str, fields: dict[str, str], photo: bytes | None) -> Any:
        files = {_part(path): ("photo.jpg", photo, "image/jpeg")} if photo else None
        return (await client.post(url + path, data=fields, files=files)).json()

    return post


def _by_aiohttp(session: aiohttp.ClientSession, url: str) -> Post:
    async def post(path: str, fields: dict[str, str], photo: bytes | None) -> Any:
        form = aiohttp.FormData(fields)
        if photo:
            form.add_field(_part(path), photo, filename="photo.jpg", content_type="image/jpeg")
        async with session.post(url + path, data=form) as reply:
            return json.loads(await reply.read())

    return post


def _part(path: str) -> str:
    return "images" if path == "/v1/image-search" else "image"


class Proxy:
    """Pure ASGI. A form without a photo is about the last one that came."""

    def __init__(self, transport: str, services_url: str) -> None:
        self._opened = posting(transport, services_url)
        self._post: Post
        self._photo: bytes | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["path"] == "/health/ready":
            await Response(b"{}")(scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self._post = await self._opened.__aenter__()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._opened.__aexit__(None, None, None)
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with Request(scope, receive).form() as form:
            question, image = str(form["question"]), form.get("image")
            if image is not None and not isinstance(image, str):
                self._photo = await image.read()
        found: dict[str, Any] = {}

        async def search() -> None:
            found.update(await self._post("/v1/image-search", {"k": "5"}, self._photo))

        async with anyio.create_task_group() as group:
            group.start_soon(search)
            read = await self._post("/v1/ocr", {}, self._photo)
            text = "\n".join(line["text"] for line in read["lines"])
            domain = await self._post("/v1/classify", {"question": question, "recognized_text": text}, None)
        body = {"reason": "answered", "abstained": False, "route": "direct", "answer": text}
        body |= {"domain": domain["data"][0]["label"], "entity": found["hits"][0]["entity"]}
        await Response(json.dumps(body).encode(), media_type="application/json")(scope, receive, send)


if __name__ == "__main__":
    anyio.run(
        announced,
        Proxy(sys.argv[1], sys.argv[2]),
        listen("127.0.0.1", 0),
        backend_options={"use_uvloop": True},
    )
