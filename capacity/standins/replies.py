"""What the model services answer: for each route how much work a request is, and a reply of its contract."""

import base64
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from PIL import Image, ImageDraw
from pydantic import BaseModel

from capacity.standins import scene
from capacity.standins.exchange import StandInRequest, read_json
from chassis.errors import InvalidRequest
from contracts.cropper import CropReply, Region, RegionKind
from contracts.domain_router import Classification, ClassifyReply, Domain
from contracts.geometry import Box, Point
from contracts.image_search import ImageHit, ImageSearchReply
from contracts.ocr import OcrReply, TextLine
from contracts.reader import ReadAnswer, ReadReply, ReadRequest, TextSpan
from contracts.reranker import RerankDocument, RerankReply, RerankRequest, RerankResult, RerankUsage
from contracts.text_search import TextHit, TextSearchReply, TextSearchRequest
from contracts.verifier import Check, CheckName, SupportingSpan, VerifyReply, VerifyRequest
from gateway.planning.stage_graph import rerank_items

_WIDTH, _HEIGHT = 1200, 900
_MODEL = "stand-in"
_WHOLE_PHOTO, _CROPS = 0.62, 0.93
"""Probability of the entity: the whole photo leaves it open, so that crops are searched; they settle it."""
_SUPPORTED = 0.95


@dataclass(frozen=True, slots=True)
class Job:
    """What one request asks for: so many items, and the reply once they are done."""

    items: int
    reply: Callable[[], BaseModel]


def ocr(request: StandInRequest) -> Job:
    """The sign's two lines."""
    _photos(request, "image")
    lines = [
        TextLine(text=text, score=0.98, quadrilateral=_rectangle(300, 200 + 120 * row, 900, 280 + 120 * row))
        for row, text in enumerate(scene.SIGN)
    ]
    return Job(1, lambda: OcrReply(lines=lines, width=_WIDTH, height=_HEIGHT))


def classify(request: StandInRequest) -> Job:
    """Something in the neighbourhood."""
    if not request.form().text("question", ""):
        raise InvalidRequest("question: a question is needed.")
    domains = list(Domain)
    best = domains.index(Domain.LOCAL)
    rest = 0.2 / (len(domains) - 1)
    probabilities = [0.8 if index == best else rest for index in range(len(domains))]
    found = Classification(index=best, label=Domain.LOCAL, probs=probabilities, num_classes=len(domains))
    return Job(1, lambda: ClassifyReply(id="classify-stand-in", model=_MODEL, data=[found]))


def crop(request: StandInRequest) -> Job:
    """As many regions as were asked for, six at most."""
    _photos(request, "image")
    count = min(6, request.form().number("max_regions", 6))
    return Job(1, lambda: CropReply(regions=_regions(count), width=_WIDTH, height=_HEIGHT))


def image_search(request: StandInRequest) -> Job:
    """The bridge, and others that it is not."""
    photos = _photos(request, "images")
    count = request.form().number("k", 5)
    best = _CROPS if photos > 1 else _WHOLE_PHOTO
    return Job(photos, lambda: ImageSearchReply(hits=_hits(count, best), collection="images"))


def text_search(request: StandInRequest) -> Job:
    """`k` pages about the bridge, whatever was asked."""
    asked = request.json(TextSearchRequest)
    return Job(
        len(asked.queries),
        lambda: TextSearchReply(hits=_pages(asked.k, len(asked.queries)), collection=asked.collection),
    )


def rerank(request: StandInRequest) -> Job:
    """Documents that state the fact before those that only mention the bridge; as JSON or as a form."""
    is_form = (request.header("content-type") or "").startswith("multipart/")
    content = request.form().text("request", "").encode() if is_form else request.content
    asked = read_json(content, RerankRequest)
    documents = len(asked.documents)
    fine = documents if asked.fine_top_n is None else asked.fine_top_n
    return Job(rerank_items(documents, fine), lambda: _ranked(asked))


def verify(request: StandInRequest) -> Job:
    """Supported, with the white-box checks as the request sets them."""
    asked = request.json(VerifyRequest)
    return Job(max(1, len(asked.evidence)), lambda: _verified(asked))


def read(request: StandInRequest) -> Job:
    """The sentences that state something, wherever they stand."""
    asked = request.json(ReadRequest)
    return Job(len(asked.passages), lambda: _read(asked))


ROUTES: Mapping[tuple[str, str], Callable[[StandInRequest], Job]] = MappingProxyType(
    {
        ("ocr", "/v1/ocr"): ocr,
        ("domain_router", "/v1/classify"): classify,
        ("cropper", "/v1/crop"): crop,
        ("image_search", "/v1/image-search"): image_search,
        ("text_search", "/v1/text-search"): text_search,
        ("reranker", "/v1/rerank"): rerank,
        ("verifier", "/v1/verify"): verify,
        ("reader", "/v1/read"): read,
    }
)
"""What each service's own route does. A job's `reply` is made when its time has passed."""


def _photos(request: StandInRequest, part: str) -> int:
    """How many there are. Raises `InvalidRequest` for none."""
    count = len(request.form().all(part))
    if not count:
        raise InvalidRequest(f"{part}: a photo is needed.")
    return count


def _rectangle(left: float, top: float, right: float, bottom: float) -> list[Point]:
    return [Point(x=x, y=y) for x, y in ((left, top), (right, top), (right, bottom), (left, bottom))]


def _regions(count: int) -> list[Region]:
    return [
        Region(
            kind=RegionKind.DETECTION,
            label=scene.OBJECT_LABEL,
            score=0.9 - 0.1 * place,
            box=Box(left=50 * place, top=40, right=50 * place + 400, bottom=340),
            quadrilateral=_rectangle(50 * place, 40, 50 * place + 400, 340),
            image=_crop_jpeg(place),
        )
        for place in range(count)
    ]


@cache
def _crop_jpeg(place: int) -> bytes:
    """A small picture of girders, base64 as the contract carries it."""
    image = Image.new("RGB", (160, 120), (150, 170 + 10 * place, 190))
    drawing = ImageDraw.Draw(image)
    for x in range(0, 160, 20):
        drawing.line([(x, 120), (x + 10, 30)], fill=(60, 60, 70), width=3)
    held = io.BytesIO()
    image.save(held, "JPEG", quality=80)
    return base64.b64encode(held.getvalue())


def _hits(count: int, best: float) -> list[ImageHit]:
    return [
        ImageHit(
            id=f"00000000-0000-4000-8000-{place:012d}",
            score=best if place == 0 else 0.3 / place,
            entity=scene.ENTITY if place == 0 else f"Another bridge, number {place}",
            attributes=dict(scene.ATTRIBUTES) if place == 0 else {},
            title=scene.ENTITY if place == 0 else f"Bridge {place}",
            url=scene.PAGE_URL if place == 0 else scene.page_url(place),
            image_index=0,
        )
        for place in range(count)
    ]


def _pages(count: int, queries: int) -> list[TextHit]:
    return [
        TextHit(
            id=f"00000000-0000-4000-9000-{place:012d}",
            url=scene.page_url(place),
            title=scene.ENTITY,
            snippet=scene.page(place),
            score=1 / (60 + place),
            query_indexes=list(range(queries)),
        )
        for place in range(count)
    ]


def _ranked(asked: RerankRequest) -> RerankReply:
    scores = [0.94 if scene.FACT in text else 0.4 for text in asked.documents]
    best_first = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    results = [
        RerankResult(
            index=index,
            relevance_score=scores[index],
            document=RerankDocument(text=asked.documents[index]) if asked.return_documents else None,
        )
        for index in best_first[: asked.top_n]
    ]
    words = sum(len(text.split()) for text in asked.documents)
    return RerankReply(
        id="rerank-stand-in", model=_MODEL, results=results, usage=RerankUsage(total_tokens=words)
    )


def _verified(asked: VerifyRequest) -> VerifyReply:
    checks = [Check(name=CheckName.TERMS, passed=True)]
    tokens = asked.token_probabilities
    if tokens:
        mean = sum(tokens) / len(tokens)
        checks.append(Check(name=CheckName.TOKEN_MIN, passed=min(tokens) >= asked.token_min))
        checks.append(Check(name=CheckName.TOKEN_MEAN, passed=mean >= asked.token_mean))
    span = None
    if asked.evidence and asked.evidence[0]:
        text = asked.evidence[0]
        span = SupportingSpan(evidence_index=0, start=0, end=len(text), text=text)
    supported = all(check.passed for check in checks)
    return VerifyReply(
        supported=supported, probability=_SUPPORTED if supported else 0.2, span=span, checks=checks
    )


def _read(asked: ReadRequest) -> ReadReply:
    answers = [
        ReadAnswer(
            passage_index=index,
            span=_span(passage.text, span),
            sentence=_span(passage.text, sentence),
            spoken=spoken,
            probability=_SUPPORTED,
        )
        for index, passage in enumerate(asked.passages)
        for sentence, (span, spoken) in scene.READINGS.items()
        if sentence in passage.text
    ]
    return ReadReply(model=_MODEL, answers=answers[: asked.top_n])


def _span(text: str, part: str) -> TextSpan:
    start = text.index(part)
    return TextSpan(start=start, end=start + len(part), text=part)
