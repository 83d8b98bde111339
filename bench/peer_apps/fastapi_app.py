"""`python -m bench.peer_apps.fastapi_app`: a page of FastAPI with aiohttp, as many teams begin."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import aiohttp
import uvicorn
from fastapi import FastAPI, Form, Request, UploadFile

from bench.peer_apps.settings import PORT, SERVICES_URL


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with aiohttp.ClientSession(SERVICES_URL) as session:
        app.state.session, app.state.photo = session, b""
        yield


app = FastAPI(lifespan=lifespan)


async def post(request: Request, path: str, fields: dict[str, str], part: str = "") -> Any:
    form = aiohttp.FormData(fields)
    if part:
        form.add_field(part, request.app.state.photo, filename="photo.jpg", content_type="image/jpeg")
    async with request.app.state.session.post(path, data=form) as reply:
        return await reply.json()


@app.get("/health")
async def health() -> dict[str, str]:
    return {"status": "ok"}


@app.post("/answer")
async def answer(
    request: Request, question: Annotated[str, Form()], image: UploadFile | None = None
) -> dict[str, str]:
    if image is not None:
        request.app.state.photo = await image.read()

    async def read() -> tuple[str, str]:
        lines = (await post(request, "/v1/ocr", {}, "image"))["lines"]
        text = "\n".join(line["text"] for line in lines)
        domain = await post(request, "/v1/classify", {"question": question, "recognized_text": text})
        return text, domain["data"][0]["label"]

    (text, domain), matches = await asyncio.gather(
        read(), post(request, "/v1/image-search", {"k": "5"}, "images")
    )
    return {"answer": text, "domain": domain, "entity": matches["hits"][0]["entity"]}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=PORT)
