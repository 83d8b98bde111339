"""Typed calls to the model services, from and to the gateway's own types.

Indexed text is untrusted: invisible characters are removed here, before anything reads, quotes or speaks it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TypeVar

from chassis.errors import CollectionNotFound, LoreglassError
from chassis.http.calls import FilePart, Form, ServiceClient
from chassis.resilience.deadlines import Deadline
from contracts.addresses import is_source_address
from contracts.collections import Collections
from contracts.cropper import CropReply
from contracts.domain_router import ClassifyReply
from contracts.image_search import ImageSearchReply, ImageTextSearchRequest
from contracts.message import Message, Request
from contracts.ocr import OcrReply
from contracts.operations import Health, Info
from contracts.reader import ReadReply
from contracts.reranker import RerankReply, RerankRequest
from contracts.text_search import ReadPagesRequest, TextSearchReply, TextSearchRequest
from contracts.verifier import VerifyReply, VerifyRequest
from gateway.clients.conversion import crops, entities, photo_text, read_request, readings
from gateway.state import Box, Crop, DomainGuess, Entity, PhotoText, Reading, ToRead
from language.words import visible


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a page, from text search. `sections`: the lines of its text that name sections."""

    text: str
    title: str
    url: str
    last_modified: datetime | None
    sections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PhotoRecipients:
    """Services that receive the photo itself."""

    domain_router: bool = False
    reranker: bool = False


Value = TypeVar("Value", bound=Message)
Weigh = Callable[[str, int], float]
"""Service and items of a call -> the milliseconds that its GPU is expected to work."""


def weightless(_service: str, _items: int) -> float:
    """Return 0: no GPU is shared."""
    return 0.0


SEARCHES = ("image_search", "text_search")

_ASK_INFO_MS, _INFO_FRESH_S = 250.0, 60.0
_SILENCE_S = 5.0
"""Time until `/info` is requested again if it does not say what the service accepts."""
_TEXT_CHARS = 2_000
"""The contract's limit of a text to search pictures by."""


@dataclass(frozen=True, slots=True)
class Services:
    """One client per model service."""

    ocr: ServiceClient
    cropper: ServiceClient
    image_search: ServiceClient
    text_search: ServiceClient
    reranker: ServiceClient
    domain_router: ServiceClient
    verifier: ServiceClient
    reader: ServiceClient
    web_search: ServiceClient | None = None
    photo_to: PhotoRecipients = PhotoRecipients()
    weigh: Weigh = weightless
    takes_cache: dict[str, tuple[float, list[str]]] = field(default_factory=dict, init=False)
    """`Info.takes` of services by name, each with the time on the deadlines' clock when it expires."""

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the services, for `ready`."""
        return [field.name for field in fields(cls) if field.type is ServiceClient]

    async def read_text(self, jpeg: bytes, deadline: Deadline) -> PhotoText:
        """Return the photo's text lines in reading order, boxes as fractions of the photo."""
        return photo_text(await self._send("ocr", "/v1/ocr", Form(_photos(jpeg)), OcrReply, deadline))

    async def classify(
        self, question: str, recognized: str, deadline: Deadline, jpeg: bytes | None = None
    ) -> DomainGuess:
        """Return the question's domain."""
        photos = _photos(jpeg) if jpeg is not None and self.photo_to.domain_router else []
        form = Form(photos, {"question": question, "recognized_text": recognized})
        reply = await self._send("domain_router", "/v1/classify", form, ClassifyReply, deadline, 1)
        best = reply.data[0]
        return DomainGuess(best.label, best.probs[best.index])

    async def search_photos(
        self, jpegs: Sequence[bytes], count: int, deadline: Deadline, places: Sequence[Box] = ()
    ) -> tuple[Entity, ...]:
        """Return the entities in the photo or its crops, each once, most probable first.

        Empty if no photos are indexed, which is an installation's choice and not an error. `places`: of the
        first pictures, if these are crops.
        """
        form = Form(_photos(*jpegs, field="images"), {"k": str(count)})
        path, items = "/v1/image-search", len(jpegs)
        try:
            reply = await self._send("image_search", path, form, ImageSearchReply, deadline, items)
        except CollectionNotFound:
            return ()
        return entities(reply, places)

    async def takes(self, name: str, what: str, deadline: Deadline) -> bool:
        """Return whether a service takes `image` or `text`, by its cached `/info`; False without a reply."""
        now = deadline.clock()
        until, kinds = self.takes_cache.get(name, (-math.inf, []))
        if now >= until:
            try:
                kinds, fresh_s = (await self.about(name, deadline.within(_ASK_INFO_MS))).takes, _INFO_FRESH_S
            except LoreglassError:
                kinds, fresh_s = [], _SILENCE_S
            self.takes_cache[name] = (now + fresh_s, kinds)
        return what in kinds

    async def search_photos_by_text(
        self, texts: Sequence[str], count: int, deadline: Deadline
    ) -> tuple[Entity, ...]:
        """Return entities that look like the texts, each once, most similar first; empty if none are indexed.

        Raises `NotSupported` unless it `takes` texts.
        """
        body = ImageTextSearchRequest(texts=[text[:_TEXT_CHARS] for text in texts], k=count)
        path, items = "/v1/image-search/text", len(texts)
        try:
            reply = await self._send("image_search", path, body, ImageSearchReply, deadline, items)
        except CollectionNotFound:
            return ()
        return entities(reply)

    async def crop(
        self, jpeg: bytes, labels: Sequence[str], max_regions: int, deadline: Deadline
    ) -> tuple[Crop, ...]:
        """Return rectified regions worth a closer look, best first."""
        form = Form(_photos(jpeg), {"labels": list(labels), "max_regions": str(max_regions)})
        return crops(await self._send("cropper", "/v1/crop", form, CropReply, deadline, 1))

    async def search_pages(
        self, request: TextSearchRequest | ReadPagesRequest, deadline: Deadline, jpeg: bytes | None = None
    ) -> tuple[Passage, ...]:
        """Return passages of pages, best first, or those of the pages that are named, in their order.

        Empty if none are indexed. `jpeg`: the photo that the queries are about, for an engine that sees it.
        """
        path, items = "/v1/text-search/pages", 0
        if isinstance(request, TextSearchRequest):
            path, items = "/v1/text-search", len(request.queries)
        photo = jpeg if jpeg and await self.takes("text_search", "image", deadline) else None
        try:
            reply = await self._send("text_search", path, request, TextSearchReply, deadline, items, photo)
        except CollectionNotFound:
            return ()
        return _passages(reply)

    async def search_web(self, request: TextSearchRequest, deadline: Deadline) -> tuple[Passage, ...]:
        """Return passages of web pages, best first; empty if the web is not searched."""
        if self.web_search is None:
            return ()
        reply = await self._send("web_search", "/v1/text-search", request, TextSearchReply, deadline)
        return _passages(reply)

    async def rerank(
        self, request: RerankRequest, deadline: Deadline, jpeg: bytes | None = None
    ) -> tuple[float, ...]:
        """Return the probability that each document answers the query, in the order of `documents`."""
        sees = jpeg and (self.photo_to.reranker or await self.takes("reranker", "image", deadline))
        photo, items = jpeg if sees else None, len(request.documents)
        reply = await self._send("reranker", "/v1/rerank", request, RerankReply, deadline, items, photo)
        scores = {result.index: result.relevance_score for result in reply.results}
        return tuple(scores.get(index, 0.0) for index in range(items))

    async def verify(self, request: VerifyRequest, deadline: Deadline) -> VerifyReply:
        """Check the answer against the evidence and the answering model's own certainty."""
        return await self._send("verifier", "/v1/verify", request, VerifyReply, deadline)

    async def read(
        self, question: str, passages: Sequence[ToRead], subject: str | None, deadline: Deadline
    ) -> tuple[Reading, ...]:
        """Return the best answer in the passages, if any.

        `subject`: the name of the thing that "this" or "it" means. Long passages and many passages are cut to
        the contract's limits.
        """
        body = read_request(question, passages, subject)
        reply = await self._send("reader", "/v1/read", body, ReadReply, deadline, len(body.passages))
        return readings(reply, body.passages)

    async def published(self, name: str, deadline: Deadline) -> dict[str, int]:
        """Return the size of each published index of a search, by alias. Raises as `about`."""
        client: ServiceClient = getattr(self, name)
        reply = await client.get("/v1/collections", Collections, deadline)
        return {alias: each.points for each in reply.collections for alias in each.aliases}

    async def holds_anything(self, deadline: Deadline) -> bool:
        """Return whether a photo or a page is indexed. Raises if a service does not answer."""
        for name in SEARCHES:
            if any((await self.published(name, deadline)).values()):
                return True
        return False

    async def ready(self, name: str, deadline: Deadline) -> Health:
        """Return a service's health. Raises if it is not ready."""
        client: ServiceClient = getattr(self, name)
        return await client.get("/health/ready", Health, deadline)

    async def about(self, name: str, deadline: Deadline) -> Info:
        """Return a service's `/info`."""
        client: ServiceClient = getattr(self, name)
        return await client.get("/info", Info, deadline)

    async def _send(
        self,
        name: str,
        path: str,
        body: Request | Form,
        reply: type[Value],
        deadline: Deadline,
        items: int = 0,
        photo: bytes | None = None,
    ) -> Value:
        """Send a request to the service `name`; one with a photo as a form.

        `items`: how many a GPU works on, 0 for none.
        """
        client: ServiceClient = getattr(self, name)
        if photo is not None and isinstance(body, Request):
            body = Form(_photos(photo), {"request": body.model_dump_json(exclude_none=True)})
        weight_ms = self.weigh(name, items) if items else 0.0
        return await client.send("POST", path, body, reply, deadline, weight_ms=weight_ms)


def _photos(*jpegs: bytes, field: str = "image") -> list[FilePart]:
    return [(field, ("photo.jpg", jpeg, "image/jpeg")) for jpeg in jpegs]


def _passages(reply: TextSearchReply) -> tuple[Passage, ...]:
    return tuple(
        Passage(
            visible(hit.snippet),
            visible(hit.title),
            hit.url,
            hit.last_modified,
            tuple(map(visible, hit.sections)),
        )
        for hit in reply.hits
        if is_source_address(hit.url)
    )
