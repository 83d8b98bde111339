"""Model services for the gateway's tests: eight routes on one socket, each told how to behave.

What they take and send are the contracts' own models; tests/contract compares them with the real services.
"""

import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum, auto
from typing import Annotated, Any, cast

import anyio
from fastapi import APIRouter, FastAPI, File, Form, Request, Response, UploadFile

from chassis.errors import Overloaded
from chassis.http.app import create_app
from chassis.http.bodies import pictured_schema, read_pictured, takes_json
from chassis.json_text import JsonLimits
from chassis.settings import AppSettings
from chassis.telemetry.metrics import Metrics
from contracts.collections import Collection, Collections
from contracts.cropper import CropReply, Region, RegionKind
from contracts.domain_router import Classification, ClassifyReply, Domain
from contracts.geometry import Box, Point
from contracts.image_search import ImageHit, ImageSearchReply, ImageTextSearchRequest
from contracts.ocr import OcrReply, TextLine
from contracts.reader import ReadAnswer, ReadReply, ReadRequest, TextSpan
from contracts.reranker import RerankReply, RerankRequest, RerankResult, RerankUsage
from contracts.text_search import ReadPagesRequest, TextHit, TextSearchReply, TextSearchRequest
from contracts.verifier import VerifyReply, VerifyRequest

NAMES = ("ocr", "cropper", "image_search", "text_search", "reranker", "domain_router", "verifier", "reader")
BOOK = "The Salt Road"
AUTHOR = f"The author of {BOOK} is Mira Holm."
CITED_AUTHOR = f"{BOOK}, author: Mira Holm."
PAGES = f"{BOOK} has 312 pages."
READABLE = {"who": "Mira Holm", "pages": "312 pages"}
"""A word of the question, and the words that answer it wherever they stand."""


class Mood(StrEnum):
    """How a fake service treats its caller."""

    WORKS = auto()
    HANGS = auto()
    HELD = auto()
    CRASHES = auto()
    BUSY = auto()
    TALKS_NONSENSE = auto()


@dataclass
class FakeService:
    """One service: its mood, its reply, and what it has seen."""

    reply: Any
    mood: Mood = Mood.WORKS
    calls: list[Any] = field(default_factory=list)
    arrived: anyio.Event = field(default_factory=anyio.Event)
    left: anyio.Event = field(default_factory=anyio.Event)
    release: anyio.Event = field(default_factory=anyio.Event)

    async def serve(self, call: object) -> Any:
        """The reply, or what the mood makes of it."""
        self.calls.append(call)
        self.arrived.set()
        try:
            if self.mood is Mood.HANGS:
                await anyio.sleep_forever()
            if self.mood is Mood.HELD:
                await self.release.wait()
        except anyio.get_cancelled_exc_class():
            self.left.set()
            raise
        if self.mood is Mood.CRASHES:
            raise RuntimeError("/srv/models/weights.bin is gone")
        if self.mood is Mood.BUSY:
            raise Overloaded(retry_after_s=1)
        if self.mood is Mood.TALKS_NONSENSE:
            return Response('{"nonsense": true}', media_type="application/json")
        return self.reply(call) if callable(self.reply) else self.reply


def text_line(text: str, row: int = 0) -> TextLine:
    """A line of the photo as OCR reports it."""
    corners = [(10.0, row * 20.0), (90.0, row * 20.0), (90.0, row * 20.0 + 16), (10.0, row * 20.0 + 16)]
    return TextLine(text=text, score=0.95, quadrilateral=[Point(x=x, y=y) for x, y in corners])


def image_hit(entity: str = BOOK, score: float = 0.97, **attributes: str) -> ImageHit:
    """A known thing."""
    facts = attributes or {"author": "Mira Holm"}
    return ImageHit(
        id=f"id-{entity}",
        score=score,
        entity=entity,
        attributes=facts,
        url="https://kb.example/1",
        image_index=0,
    )


def text_hit(snippet: str = PAGES, score: float = 0.5) -> TextHit:
    """A passage of a page."""
    return TextHit(
        id=f"id-{snippet[:9]}",
        url="https://pages.example/salt-road",
        title=BOOK,
        snippet=snippet,
        score=score,
        query_indexes=[0],
    )


def images(*hits: ImageHit) -> ImageSearchReply:
    """A reply of image search."""
    return ImageSearchReply(hits=list(hits), collection="images")


def pages(*hits: TextHit) -> TextSearchReply:
    """A reply of text search."""
    return TextSearchReply(hits=list(hits), collection="pages")


def regions(*pictures: bytes) -> CropReply:
    """A reply of the cropper, with a region for each picture."""
    return CropReply(regions=[crop_region(each) for each in pictures], width=96, height=64)


def print_of(*lines: TextLine) -> OcrReply:
    """A reply of OCR for a photo of 96 x 64."""
    return OcrReply(lines=list(lines), width=96, height=64)


def find_in_second_crop(sent: tuple[list[bytes], int]) -> ImageSearchReply:
    """The book, in the second of several pictures; nothing in the whole photo."""
    hits = [image_hit(score=0.9).model_copy(update={"image_index": 1})] if len(sent[0]) > 1 else []
    return ImageSearchReply(hits=hits, collection="images")


def crop_region(image: bytes, left: float = 0) -> Region:
    """A region with a picture of its own."""
    return Region(
        kind=RegionKind.QUADRILATERAL,
        score=0.9,
        box=Box(left=left, top=0, right=left + 10, bottom=10),
        quadrilateral=[Point(x=0, y=0), Point(x=10, y=0), Point(x=10, y=10), Point(x=0, y=10)],
        image=base64.b64encode(image),
    )


def domain_reply(domain: Domain = Domain.BOOK) -> ClassifyReply:
    """All the probability on one domain."""
    probabilities = [float(member is domain) for member in Domain]
    index = list(Domain).index(domain)
    one = Classification(index=index, label=domain, probs=probabilities, num_classes=len(Domain))
    return ClassifyReply(id="classify-1", model="fake", data=[one])


def prefer_pages(request: RerankRequest) -> RerankReply:
    """What tells of pages comes first: an order that search order is not."""
    order = sorted(range(len(request.documents)), key=lambda index: PAGES not in request.documents[index])
    results = [
        RerankResult(index=index, relevance_score=0.9 / (place + 1)) for place, index in enumerate(order)
    ]
    return RerankReply(id="rerank-1", model="fake", results=results, usage=RerankUsage(total_tokens=0))


def read_known(request: ReadRequest) -> ReadReply:
    """The words of `READABLE` that answer, from the first passage that has them, as one sentence."""
    question = request.question.casefold()
    wanted = [answer for word, answer in READABLE.items() if word in question]
    for index, passage in enumerate(request.passages):
        for answer in wanted:
            if (start := passage.text.find(answer)) >= 0:
                return ReadReply(model="fake", answers=[read_answer(index, passage.text, answer, start)])
    return ReadReply(model="fake", answers=[])


def read_answer(passage: int, text: str, answer: str, start: int, probability: float = 0.9) -> ReadAnswer:
    """`answer` at `start` of a passage that is one sentence."""
    return ReadAnswer(
        passage_index=passage,
        span=TextSpan(start=start, end=start + len(answer), text=answer),
        sentence=TextSpan(start=0, end=len(text), text=text),
        spoken=f"{answer}.",
        probability=probability,
    )


def indexed(points: int) -> Collections:
    """An index of so many photos or pages that searches look into, and one that nobody has published yet."""
    published = Collection(name="v1", points=points, aliases=["images", "pages"])
    return Collections(collections=[published, Collection(name="v2", points=1)])


class FakeServices:
    """The eight services. They find one book with its author and page count, or send `replies`."""

    def __init__(self, **replies: Any) -> None:
        self.ocr = FakeService(print_of(text_line("THE SALT ROAD")))
        self.cropper = FakeService(regions())
        self.image_search = FakeService(images(image_hit()))
        self.picture_texts = FakeService(images(image_hit()))
        self.takes: tuple[str, ...] = ()
        self.photos: list[tuple[str, bytes | None]] = []
        """The photo of each search of pages and of each ranking, by service."""
        self.pages = FakeService(TextSearchReply(hits=[], collection="pages"))
        self.text_search = FakeService(pages(text_hit()))
        self.reranker = FakeService(prefer_pages)
        self.domain_router = FakeService(domain_reply())
        self.verifier = FakeService(VerifyReply(supported=True, probability=0.95, checks=[]))
        self.reader = FakeService(read_known)
        self.collections = FakeService(indexed(3))
        for name, reply in replies.items():
            self[name].reply = reply

    def __getitem__(self, name: str) -> FakeService:
        return cast(FakeService, getattr(self, name))

    def find_nothing(self) -> None:
        """Neither print nor hits from now on."""
        self.ocr.reply, self.image_search.reply, self.text_search.reply = print_of(), images(), pages()

    def app(self) -> FastAPI:
        """All eight behind one socket: their paths do not meet."""

        @asynccontextmanager
        async def lifespan(app: FastAPI) -> AsyncIterator[None]:
            app.state.ready_checks = {}
            yield

        return create_app(
            "fakes", AppSettings(), [self._router()], lifespan, Metrics("fakes"), takes=self.takes
        )

    def _search_by_text(self, router: APIRouter) -> None:
        @router.post("/v1/image-search/text", response_model=ImageSearchReply)
        async def search_images_by_text(request: ImageTextSearchRequest) -> Any:
            return await self.picture_texts.serve(request)

    def _read_pages(self, router: APIRouter) -> None:
        @router.post("/v1/text-search/pages", response_model=TextSearchReply)
        async def read_pages(request: ReadPagesRequest) -> Any:
            return await self.pages.serve(request)

    def _router(self) -> APIRouter:
        router = APIRouter()
        self._search_by_text(router)
        self._read_pages(router)

        @router.post("/v1/ocr", response_model=OcrReply)
        async def ocr(image: Annotated[UploadFile, File()]) -> Any:
            return await self.ocr.serve(await image.read())

        @router.post("/v1/crop", response_model=CropReply)
        async def crop(
            image: Annotated[UploadFile, File()],
            labels: Annotated[list[str] | None, Form()] = None,
            max_regions: Annotated[int, Form()] = 4,
        ) -> Any:
            return await self.cropper.serve((await image.read(), labels or [], max_regions))

        @router.post("/v1/image-search", response_model=ImageSearchReply)
        async def search_images(
            images: Annotated[list[UploadFile], File()], k: Annotated[int, Form()] = 5
        ) -> Any:
            return await self.image_search.serve(([await image.read() for image in images], k))

        searching, ranking = pictured_schema(TextSearchRequest), pictured_schema(RerankRequest)

        @router.post("/v1/text-search", response_model=TextSearchReply, openapi_extra=searching)
        @takes_json(JsonLimits(), or_form=True)
        async def search_text(request: Request) -> Any:
            call, photo = await read_pictured(request, TextSearchRequest, JsonLimits())
            self.photos.append(("text_search", photo))
            return await self.text_search.serve(call)

        @router.post("/v1/rerank", response_model=RerankReply, openapi_extra=ranking)
        @takes_json(JsonLimits(), or_form=True)
        async def rerank(request: Request) -> Any:
            call, photo = await read_pictured(request, RerankRequest, JsonLimits())
            self.photos.append(("reranker", photo))
            return await self.reranker.serve(call)

        @router.post("/v1/classify", response_model=ClassifyReply)
        async def classify(
            question: Annotated[str, Form()], recognized_text: Annotated[str, Form()] = ""
        ) -> Any:
            return await self.domain_router.serve((question, recognized_text))

        @router.post("/v1/verify", response_model=VerifyReply)
        async def verify(request: VerifyRequest) -> Any:
            return await self.verifier.serve(request)

        @router.post("/v1/read", response_model=ReadReply)
        @takes_json(JsonLimits(max_items=65_536))
        async def read(request: ReadRequest) -> Any:
            return await self.reader.serve(request)

        @router.get("/v1/collections", response_model=Collections)
        async def collections() -> Any:
            return await self.collections.serve(None)

        return router


def service_settings(url: str, down: Mapping[str, str] | None = None) -> dict[str, str]:
    """The gateway's settings for services at `url`, but for those that are `down`."""
    return {f"{name}_url": (down or {}).get(name, url) for name in NAMES}
