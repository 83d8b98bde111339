"""Typed calls to the model services: gateway state in, gateway state out; the wire stays in here.

What was indexed was written by strangers: characters that only hide things end here, before anybody reads,
quotes or speaks the text.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime

from chassis.errors import CollectionNotFound, LoreglassError
from chassis.http.calls import ServiceClient
from chassis.http.multipart import FilePart
from chassis.resilience.deadlines import Deadline
from contracts.addresses import is_source_address
from contracts.collections import Collections
from contracts.cropper import CropReply
from contracts.domain_router import ClassifyReply
from contracts.image_search import ImageHit, ImageSearchReply, ImageTextSearchRequest
from contracts.ocr import OcrReply
from contracts.operations import Health, Info
from contracts.reader import ReadReply
from contracts.reranker import RerankReply, RerankRequest
from contracts.text_search import TextSearchReply, TextSearchRequest
from contracts.verifier import VerifyReply, VerifyRequest
from gateway.clients.photo_text import photo_text
from gateway.clients.reading import answers_found, read_request
from gateway.state import Crop, DomainGuess, Entity, Found, PhotoText, ToRead, Turn
from language.words import visible


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a page, as text search found it."""

    text: str
    title: str
    url: str
    last_modified: datetime | None


@dataclass(frozen=True, slots=True)
class PhotoRecipients:
    """Which services read the photo itself; the others are spared its bytes."""

    domain_router: bool = False
    reranker: bool = False


@dataclass(frozen=True, slots=True)
class WhiteBox:
    """What the answering model itself says of its answer, and what is asked of it (QA-Dragon, 3.7.2)."""

    token_probabilities: tuple[float, ...] = ()
    token_min: float = 0.60
    token_mean: float = 0.90
    model_judgement: float | None = None


_NO_WHITE_BOX = WhiteBox()

Weigh = Callable[[str, int], float]
"""Service and items of a call -> the milliseconds that it is expected to keep its card busy."""


def weightless(_service: str, _items: int) -> float:
    """Where no card is shared."""
    return 0.0


SEARCHES = ("image_search", "text_search")

_ASK_INFO_MS, _INFO_FRESH_S = 250.0, 60.0
_TEXT_CHARS = 2_000
"""Of a text that pictures are searched by, at most: the contract's limit."""


@dataclass(slots=True)
class _KnownTexts:
    """What image search last said of texts, and until when (on the deadlines' clock) that is believed."""

    taken: bool = False
    until: float = -math.inf


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
    photo_to: PhotoRecipients = PhotoRecipients()
    weigh: Weigh = weightless
    known_texts: _KnownTexts = field(default_factory=_KnownTexts, init=False)

    @classmethod
    def names(cls) -> list[str]:
        """The services, as `ready` calls them."""
        return [field.name for field in fields(cls) if field.type is ServiceClient]

    async def read_text(self, jpeg: bytes, deadline: Deadline) -> PhotoText:
        """The photo's text lines in reading order, boxes as fractions of the photo."""
        reply = await self.ocr.send_multipart("/v1/ocr", [_file("image", jpeg)], {}, OcrReply, deadline)
        return photo_text(reply)

    async def classify(
        self, question: str, recognized: str, deadline: Deadline, jpeg: bytes | None = None
    ) -> DomainGuess:
        """The question's domain."""
        fields: dict[str, str | list[str]] = {"question": question, "recognized_text": recognized}
        seen = [_file("image", jpeg)] if jpeg and self.photo_to.domain_router else []
        reply = await self.domain_router.send_multipart(
            "/v1/classify", seen, fields, ClassifyReply, deadline, weight_ms=self.weigh("domain_router", 1)
        )
        found = reply.data[0]
        return DomainGuess(found.label, found.probs[found.index])

    async def search_photos(
        self, jpegs: Sequence[bytes], count: int, deadline: Deadline
    ) -> tuple[Entity, ...]:
        """Known things that the photo, or some of its crops, show; one each, most probable first.

        None where no photos are indexed, which is an installation's choice and no failure.
        """
        try:
            reply = await self.image_search.send_multipart(
                "/v1/image-search",
                [_file("images", jpeg) for jpeg in jpegs],
                {"k": str(count)},
                ImageSearchReply,
                deadline,
                weight_ms=self.weigh("image_search", len(jpegs)),
            )
        except CollectionNotFound:
            return ()
        return _entities(reply)

    async def takes_texts(self, deadline: Deadline) -> bool:
        """Whether image search also takes texts, as its `/info` said not long ago; no where it is silent."""
        now = deadline.clock()
        if now >= self.known_texts.until:
            try:
                info = await self.about("image_search", deadline.within(_ASK_INFO_MS))
            except LoreglassError:
                return False
            self.known_texts.taken, self.known_texts.until = "text" in info.takes, now + _INFO_FRESH_S
        return self.known_texts.taken

    async def search_photos_by_text(
        self, texts: Sequence[str], count: int, deadline: Deadline
    ) -> tuple[Entity, ...]:
        """Known things that look as the texts say; one each, most alike first. Where none are indexed: none.

        Raises `NotSupported` where `takes_texts` is not so.
        """
        body = ImageTextSearchRequest(texts=[text[:_TEXT_CHARS] for text in texts], k=count)
        weight_ms = self.weigh("image_search", len(texts))
        try:
            reply = await self.image_search.send_json(
                "POST", "/v1/image-search/text", body, ImageSearchReply, deadline, weight_ms=weight_ms
            )
        except CollectionNotFound:
            return ()
        return _entities(reply)

    async def crop(
        self, jpeg: bytes, labels: Sequence[str], max_regions: int, deadline: Deadline
    ) -> tuple[Crop, ...]:
        """Rectified regions worth a closer look, best first."""
        reply = await self.cropper.send_multipart(
            "/v1/crop",
            [_file("image", jpeg)],
            {"labels": list(labels), "max_regions": str(max_regions)},
            CropReply,
            deadline,
            weight_ms=self.weigh("cropper", 1),
        )
        width, height = reply.width, reply.height
        return tuple(
            Crop(
                each.image,
                (
                    each.box.left / width,
                    each.box.top / height,
                    each.box.right / width,
                    each.box.bottom / height,
                ),
            )
            for each in reply.regions
        )

    async def search_pages(
        self, queries: Sequence[str], count: int, deadline: Deadline, depth: int | None = None
    ) -> tuple[Passage, ...]:
        """Passages of `count` pages for all sub-queries together, best first; none if none are indexed.

        `depth`: of fewer pages, where the best so many passages of each sub-query are.
        """
        body = TextSearchRequest(queries=list(queries), k=count, depth=depth)
        weight_ms = self.weigh("text_search", len(queries))
        try:
            reply = await self.text_search.send_json(
                "POST", "/v1/text-search", body, TextSearchReply, deadline, weight_ms=weight_ms
            )
        except CollectionNotFound:
            return ()
        return tuple(
            Passage(visible(hit.snippet), visible(hit.title), hit.url, hit.last_modified)
            for hit in reply.hits
            if is_source_address(hit.url)
        )

    async def rerank(
        self,
        query: str,
        texts: Sequence[str],
        entity: str | None,
        fine: int,
        deadline: Deadline,
        jpeg: bytes | None = None,
    ) -> tuple[float, ...]:
        """Probability that each text answers the query about the photo, in the order of `texts`.

        `fine`: how many of the best a costlier second model may read.
        """
        body = RerankRequest(query=query, documents=list(texts), entity=entity, fine_top_n=fine)
        weight_ms = self.weigh("reranker", len(texts))
        if jpeg and self.photo_to.reranker:
            fields: dict[str, str | list[str]] = {"request": body.model_dump_json(exclude_none=True)}
            reply = await self.reranker.send_multipart(
                "/v1/rerank", [_file("image", jpeg)], fields, RerankReply, deadline, weight_ms=weight_ms
            )
        else:
            reply = await self.reranker.send_json(
                "POST", "/v1/rerank", body, RerankReply, deadline, weight_ms=weight_ms
            )
        scores = {result.index: result.relevance_score for result in reply.results}
        return tuple(scores.get(index, 0.0) for index in range(len(texts)))

    async def verify(
        self,
        question: str,
        answer: str,
        evidence: Sequence[str],
        entity: str | None,
        deadline: Deadline,
        white_box: WhiteBox = _NO_WHITE_BOX,
    ) -> VerifyReply:
        """Whether the evidence, and the answering model's own certainty, bear the answer out."""
        body = VerifyRequest(
            question=question,
            answer=answer,
            evidence=list(evidence),
            entity=entity,
            token_probabilities=list(white_box.token_probabilities),
            token_min=white_box.token_min,
            token_mean=white_box.token_mean,
            model_judgement=white_box.model_judgement,
        )
        return await self.verifier.send_json("POST", "/v1/verify", body, VerifyReply, deadline)

    async def read(
        self,
        question: str,
        passages: Sequence[ToRead],
        subject: str | None,
        history: Sequence[Turn],
        top_n: int,
        deadline: Deadline,
    ) -> tuple[Found, ...]:
        """What in the passages answers the question, best first, at most `top_n`; of different sentences.

        `subject`: the name of the thing that "this" or "it" stands for. Of long passages, many passages or a
        long history the reader gets as much as its contract takes: the beginning, the first, the last turns.
        """
        body = read_request(question, passages, subject, history, top_n)
        weight_ms = self.weigh("reader", len(body.passages))
        reply = await self.reader.send_json(
            "POST", "/v1/read", body, ReadReply, deadline, weight_ms=weight_ms
        )
        return answers_found(reply, body.passages)

    async def published(self, name: str, deadline: Deadline) -> dict[str, int]:
        """How many photos or passages the search called `name` looks into, by alias. Raises as `about`."""
        client: ServiceClient = getattr(self, name)
        held = await client.get("/v1/collections", Collections, deadline)
        return {alias: collection.points for collection in held.collections for alias in collection.aliases}

    async def holds_anything(self, deadline: Deadline) -> bool:
        """Whether a photo or a page is indexed where searches look. Raises where a service does not say."""
        for name in SEARCHES:
            if any((await self.published(name, deadline)).values()):
                return True
        return False

    async def ready(self, name: str, deadline: Deadline) -> Health:
        """Whether the service called `name` can work now. Raises what it raises when it cannot."""
        client: ServiceClient = getattr(self, name)
        return await client.get("/health/ready", Health, deadline)

    async def about(self, name: str, deadline: Deadline) -> Info:
        """What the service called `name` runs on."""
        client: ServiceClient = getattr(self, name)
        return await client.get("/info", Info, deadline)


def _file(field: str, jpeg: bytes) -> FilePart:
    return (field, ("photo.jpg", jpeg, "image/jpeg"))


def _entities(reply: ImageSearchReply) -> tuple[Entity, ...]:
    return tuple(_entity(hit) for hit in reply.hits if not hit.url or is_source_address(hit.url))


def _entity(hit: ImageHit) -> Entity:
    return Entity(
        name=visible(hit.entity),
        probability=hit.score,
        attributes=tuple((visible(key), visible(value)) for key, value in hit.attributes.items()),
        title=visible(hit.title or hit.entity),
        url=hit.url,
        cosine=hit.cosine,
    )
