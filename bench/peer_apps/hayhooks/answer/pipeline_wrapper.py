"""Haystack's pipeline of three components, served by Hayhooks (`hayhooks run --pipelines-dir`).

Written as Haystack's guide to custom components and Hayhooks' on wrappers, asynchronous pipelines and files
say; the components keep an httpx client each, as Haystack's own fetcher does.
"""

from typing import Any

import httpx
from fastapi import UploadFile
from hayhooks import BasePipelineWrapper
from haystack import Pipeline, component

from bench.peer_apps.settings import SERVICES_URL

_UNSENT = "This component only runs asynchronously."


class _Service:
    def __init__(self) -> None:
        self._client: httpx.AsyncClient | None = None

    async def _post(self, path: str, fields: dict[str, str], part: str = "", photo: bytes = b"") -> Any:
        if self._client is None:
            self._client = httpx.AsyncClient(base_url=SERVICES_URL)
        files = {part: ("photo.jpg", photo, "image/jpeg")} if part else None
        return (await self._client.post(path, data=fields, files=files)).raise_for_status().json()


@component
class Ocr(_Service):
    """Read the photo's text."""

    @component.output_types(text=str)
    def run(self, photo: bytes) -> dict[str, str]:
        raise NotImplementedError(_UNSENT)

    @component.output_types(text=str)
    async def run_async(self, photo: bytes) -> dict[str, str]:
        reply = await self._post("/v1/ocr", {}, "image", photo)
        return {"text": "\n".join(line["text"] for line in reply["lines"])}


@component
class ImageSearch(_Service):
    """Find the thing in the photo."""

    @component.output_types(entity=str)
    def run(self, photo: bytes) -> dict[str, str]:
        raise NotImplementedError(_UNSENT)

    @component.output_types(entity=str)
    async def run_async(self, photo: bytes) -> dict[str, str]:
        reply = await self._post("/v1/image-search", {"k": "5"}, "images", photo)
        return {"entity": reply["hits"][0]["entity"]}


@component
class DomainRouter(_Service):
    """Find the topic of the question."""

    @component.output_types(domain=str, text=str)
    def run(self, question: str, text: str) -> dict[str, str]:
        raise NotImplementedError(_UNSENT)

    @component.output_types(domain=str, text=str)
    async def run_async(self, question: str, text: str) -> dict[str, str]:
        reply = await self._post("/v1/classify", {"question": question, "recognized_text": text})
        return {"domain": reply["data"][0]["label"], "text": text}


class PipelineWrapper(BasePipelineWrapper):
    """The gateway. A question without a photo is about the last one that came."""

    def setup(self) -> None:
        """OCR and image search begin at once; the domain router waits for OCR."""
        self.photo = b""
        self.pipeline = Pipeline()
        self.pipeline.add_component("ocr", Ocr())
        self.pipeline.add_component("image_search", ImageSearch())
        self.pipeline.add_component("domain_router", DomainRouter())
        self.pipeline.connect("ocr.text", "domain_router.text")

    async def run_api_async(self, question: str, files: list[UploadFile] | None = None) -> dict[str, str]:
        """Answer a question about a photo."""
        if files:
            self.photo = await files[0].read()
        photo = {"photo": self.photo}
        outputs = await self.pipeline.run_async(
            {"ocr": photo, "image_search": photo, "domain_router": {"question": question}}
        )
        return {
            "answer": outputs["domain_router"]["text"],
            "domain": outputs["domain_router"]["domain"],
            "entity": outputs["image_search"]["entity"],
        }
