"""`python -m bench.proxy SERVICES_URL PORT`: the least code that makes the gateway's calls.

It takes the same form and makes the same calls in the same order as the gateway does for a question that the
photo's text answers: OCR beside image search, then the domain router with the text. It checks nothing,
decodes no photo, decides nothing, and keeps no deadline, trace, session, metric or log.
"""

import json
import sys
from typing import Any

import aiohttp
import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bench.processes import serve


class Proxy:
    """Pure ASGI. A form without a photo is about the last photo that arrived."""

    def __init__(self, services_url: str) -> None:
        self._url = services_url
        self._session: aiohttp.ClientSession
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
        self._session = aiohttp.ClientSession()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._session.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with Request(scope, receive).form() as form:
            question, image = str(form["question"]), form.get("image")
            if image is not None and not isinstance(image, str):
                self._photo = await image.read()
        matches: dict[str, Any] = {}

        async def search() -> None:
            matches.update(await self._post("/v1/image-search", {"k": "5"}, "images"))

        async with anyio.create_task_group() as group:
            group.start_soon(search)
            read = await self._post("/v1/ocr", {}, "image")
            text = "\n".join(line["text"] for line in read["lines"])
            domain = await self._post("/v1/classify", {"question": question, "recognized_text": text})
        body = {"reason": "answered", "abstained": False, "route": "direct", "answer": text}
        body |= {"domain": domain["data"][0]["label"], "entity": matches["hits"][0]["entity"]}
        await Response(json.dumps(body).encode(), media_type="application/json")(scope, receive, send)

    async def _post(self, path: str, fields: dict[str, str], photo_part: str = "") -> Any:
        form = aiohttp.FormData(fields)
        if photo_part and self._photo:
            form.add_field(photo_part, self._photo, filename="photo.jpg", content_type="image/jpeg")
        async with self._session.post(self._url + path, data=form) as reply:
            return json.loads(await reply.read())


if __name__ == "__main__":
    serve(Proxy(sys.argv[1]), int(sys.argv[2]))
