"""Typed calls to the model services: gateway state in, gateway state out; the wire stays in here."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from chassis.calls import FilePart, ServiceClient
from chassis.deadlines import Deadline
from contracts.cropper import CropReply
from contracts.domain_router import ClassifyReply, Domain
from contracts.image_search import ImageHit, ImageSearchReply
from contracts.ocr import OcrReply
from contracts.operations import Health
from contracts.reranker import RerankReply, RerankRequest
from contracts.text_search import TextSearchReply, TextSearchRequest
from contracts.verifier import VerifyReply, VerifyRequest
from gateway.clients.photo_text import photo_text
from gateway.state import Entity, PhotoText


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a page, as text search found it."""

    text: str
    title: str
    url: str
    last_modified: datetime | None


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

    async def read_text(self, jpeg: bytes, deadline: Deadline) -> PhotoText:
        """The photo's text lines in reading order, boxes as fractions of the photo."""
        reply = await self.ocr.send_multipart("/v1/ocr", [_file("image", jpeg)], {}, OcrReply, deadline)
        return photo_text(reply)

    async def classify(self, question: str, recognized: str, deadline: Deadline) -> Domain:
        """The question's domain."""
        fields: dict[str, str | list[str]] = {"question": question, "recognized_text": recognized}
        reply = await self.domain_router.send_multipart("/v1/classify", [], fields, ClassifyReply, deadline)
        return reply.data[0].label

    async def search_photos(
        self, jpegs: Sequence[bytes], count: int, deadline: Deadline
    ) -> tuple[Entity, ...]:
        """Known things that the photo, or some of its crops, show; one each, most probable first."""
        reply = await self.image_search.send_multipart(
            "/v1/image-search",
            [_file("images", jpeg) for jpeg in jpegs],
            {"k": str(count)},
            ImageSearchReply,
            deadline,
        )
        return tuple(_entity(hit) for hit in reply.hits)

    async def crop(
        self, jpeg: bytes, labels: Sequence[str], max_regions: int, deadline: Deadline
    ) -> tuple[bytes, ...]:
        """Rectified regions worth a closer look, best first, as JPEG."""
        reply = await self.cropper.send_multipart(
            "/v1/crop",
            [_file("image", jpeg)],
            {"labels": list(labels), "max_regions": str(max_regions)},
            CropReply,
            deadline,
        )
        return tuple(region.image for region in reply.regions)

    async def search_pages(
        self, queries: Sequence[str], count: int, deadline: Deadline
    ) -> tuple[Passage, ...]:
        """Passages for all sub-queries together, best first."""
        body = TextSearchRequest(queries=list(queries), k=count)
        reply = await self.text_search.send_json("POST", "/v1/text-search", body, TextSearchReply, deadline)
        return tuple(Passage(hit.snippet, hit.title, hit.url, hit.last_modified) for hit in reply.hits)

    async def rerank(
        self, query: str, texts: Sequence[str], entity: str | None, deadline: Deadline
    ) -> tuple[float, ...]:
        """Probability that each text answers the query, in the order of `texts`."""
        body = RerankRequest(query=query, documents=list(texts), entity=entity)
        reply = await self.reranker.send_json("POST", "/v1/rerank", body, RerankReply, deadline)
        scores = {result.index: result.relevance_score for result in reply.results}
        return tuple(scores.get(index, 0.0) for index in range(len(texts)))

    async def verify(
        self, question: str, answer: str, evidence: Sequence[str], entity: str | None, deadline: Deadline
    ) -> VerifyReply:
        """Whether the evidence supports the answer."""
        body = VerifyRequest(question=question, answer=answer, evidence=list(evidence), entity=entity)
        return await self.verifier.send_json("POST", "/v1/verify", body, VerifyReply, deadline)

    async def ready(self, name: str, deadline: Deadline) -> Health:
        """Whether the service called `name` can work now. Raises what it raises when it cannot."""
        client: ServiceClient = getattr(self, name)
        return await client.get("/health/ready", Health, deadline)


def _file(field: str, jpeg: bytes) -> FilePart:
    return (field, ("photo.jpg", jpeg, "image/jpeg"))


def _entity(hit: ImageHit) -> Entity:
    return Entity(
        name=hit.entity,
        probability=hit.score,
        attributes=tuple(hit.attributes.items()),
        title=hit.title,
        url=hit.url,
    )
