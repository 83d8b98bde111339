"""The model services' contracts with canned replies: `path -> (service, job)`.

A job is the number of items in a request, which decides how long it takes, and the reply.
"""

import base64
import io
import re
from collections.abc import Callable, Mapping
from functools import cache

import anyio
from PIL import Image
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from bench.node import scene
from bench.node.pace import SERVICES, Pace, sleep_ms
from contracts.collections import Collections
from contracts.cropper import CropReply, Region, RegionKind
from contracts.domain_router import Classification, ClassifyReply, Domain
from contracts.geometry import Box, Point
from contracts.image_search import ImageHit, ImageSearchReply
from contracts.ocr import OcrReply, TextLine
from contracts.operations import Health, Info
from contracts.reader import ReadAnswer, ReadReply, ReadRequest, TextSpan
from contracts.reranker import RerankDocument, RerankReply, RerankRequest, RerankResult, RerankUsage
from contracts.text_search import TextHit, TextSearchReply, TextSearchRequest
from contracts.verifier import SupportingSpan, VerifyReply, VerifyRequest
from gateway.planning.plan import rerank_items

_MODEL = "node"
_CROPS = 3
_FORM_REQUEST = re.compile(rb'name="request".*?\r\n\r\n(.*?)\r\n--', re.DOTALL)

Job = tuple[int, bytes]


def _json(reply: BaseModel) -> bytes:
    return reply.model_dump_json().encode()


def _corners(left: float, top: float, right: float, bottom: float) -> list[Point]:
    return [Point(x=x, y=y) for x, y in ((left, top), (right, top), (right, bottom), (left, bottom))]


@cache
def _ocr() -> bytes:
    lines = [
        TextLine(text=text, score=0.98, quadrilateral=_corners(300, 200 + 120 * row, 900, 280 + 120 * row))
        for row, text in enumerate(scene.SIGN)
    ]
    return _json(OcrReply(lines=lines, width=1200, height=900))


@cache
def _domain() -> bytes:
    domains = list(Domain)
    best = domains.index(Domain.LOCAL)
    rest = 0.2 / (len(domains) - 1)
    probabilities = [0.8 if index == best else rest for index in range(len(domains))]
    answer = Classification(index=best, label=Domain.LOCAL, probs=probabilities, num_classes=len(domains))
    return _json(ClassifyReply(id="1", model=_MODEL, data=[answer]))


@cache
def _crops() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (160, 120), (150, 170, 190)).save(buffer, "JPEG")
    regions = [
        Region(
            kind=RegionKind.DETECTION,
            label=scene.OBJECT_LABEL,
            score=0.9 - 0.1 * place,
            box=Box(left=50 * place, top=40, right=50 * place + 400, bottom=340),
            quadrilateral=_corners(50 * place, 40, 50 * place + 400, 340),
            image=base64.b64encode(buffer.getvalue()),
        )
        for place in range(_CROPS)
    ]
    return _json(CropReply(regions=regions, width=1200, height=900))


@cache
def _image_hits(score: float) -> bytes:
    entities = {scene.ENTITY: score, "Another bridge": 0.2}
    hits = [
        ImageHit(
            id=f"00000000-0000-4000-8000-{place:012d}",
            score=score,
            entity=entity,
            attributes={} if place else scene.ATTRIBUTES,
            title=entity,
            url=f"{scene.PAGE_URL}/{place}",
            image_index=0,
        )
        for place, (entity, score) in enumerate(entities.items())
    ]
    return _json(ImageSearchReply(hits=hits, collection="images"))


def _search_images(content: bytes) -> Job:
    """Return an uncertain entity for the full photo, so that crops are searched, else a certain one."""
    photos = content.count(b'name="images"')
    return photos, _image_hits(0.93 if photos > 1 else 0.62)


def _search_pages(content: bytes) -> Job:
    request = TextSearchRequest.model_validate_json(content)
    hits = [
        TextHit(
            id=f"00000000-0000-4000-9000-{place:012d}",
            url=f"{scene.PAGE_URL}/{place}",
            title=scene.ENTITY,
            snippet=scene.page(place),
            score=1 / (60 + place),
            query_indexes=list(range(len(request.queries))),
        )
        for place in range(request.k)
    ]
    return len(request.queries), _json(TextSearchReply(hits=hits, collection=request.collection))


def _rerank(content: bytes) -> Job:
    """Rank documents with the fact first. The request is JSON, or a form part beside a photo."""
    in_form = _FORM_REQUEST.search(content)
    request = RerankRequest.model_validate_json(in_form[1] if in_form else content)
    documents, fine = request.documents, request.fine_top_n
    scores = [0.94 if scene.FACT in text else 0.4 for text in documents]
    results = [
        RerankResult(
            index=index,
            relevance_score=scores[index],
            document=RerankDocument(text=documents[index]) if request.return_documents else None,
        )
        for index in sorted(range(len(scores)), key=lambda index: -scores[index])[: request.top_n]
    ]
    reply = RerankReply(id="1", model=_MODEL, results=results, usage=RerankUsage(total_tokens=1))
    return rerank_items(len(documents), len(documents) if fine is None else fine), _json(reply)


def _verify(content: bytes) -> Job:
    evidence = VerifyRequest.model_validate_json(content).evidence
    first = evidence[0] if evidence else ""
    span = SupportingSpan(evidence_index=0, start=0, end=len(first), text=first) if first else None
    return max(1, len(evidence)), _json(VerifyReply(supported=True, probability=0.95, span=span, checks=[]))


def _read(content: bytes) -> Job:
    request = ReadRequest.model_validate_json(content)
    answers = [
        ReadAnswer(
            passage_index=index,
            span=_span(passage.text, span),
            sentence=_span(passage.text, sentence),
            spoken=spoken,
            probability=0.95,
        )
        for index, passage in enumerate(request.passages)
        for sentence, (span, spoken) in scene.READINGS.items()
        if sentence in passage.text
    ]
    reply = ReadReply(model=_MODEL, answers=answers[: request.top_n])
    return len(request.passages), _json(reply)


def _span(text: str, part: str) -> TextSpan:
    start = text.index(part)
    return TextSpan(start=start, end=start + len(part), text=part)


ROUTES: Mapping[str, tuple[str, Callable[[bytes], Job]]] = {
    "/v1/ocr": ("ocr", lambda _: (1, _ocr())),
    "/v1/classify": ("domain_router", lambda _: (1, _domain())),
    "/v1/crop": ("cropper", lambda _: (1, _crops())),
    "/v1/image-search": ("image_search", _search_images),
    "/v1/text-search": ("text_search", _search_pages),
    "/v1/rerank": ("reranker", _rerank),
    "/v1/verify": ("verifier", _verify),
    "/v1/read": ("reader", _read),
}
_OPERATIONS: Mapping[str, bytes] = {
    "/info": _json(Info(service=_MODEL, version="0", engine=_MODEL, device="cpu", dtype="")),
    "/v1/collections": _json(Collections(collections=[])),
    "/health/ready": _json(Health(status="ok")),
    "/health/live": _json(Health(status="ok")),
}


class ServicesApp:
    """All services as one pure ASGI app, so that it costs next to nothing at an instant pace."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._workers = {name: anyio.CapacityLimiter(pace.service(name).workers) for name in SERVICES}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        content, path = await read_body(receive), scope["path"]
        if path in _OPERATIONS:
            await reply(send, 200, _OPERATIONS[path])
        elif path in ROUTES:
            service, job = ROUTES[path]
            items, body = job(content)
            time = self._pace.service(service)
            if milliseconds := time.fixed_ms + time.item_ms * items:
                await self._work(service, milliseconds, receive, send, body)
            else:
                await reply(send, 200, body)
        else:
            await reply(send, 404, b"{}")

    async def _work(
        self, service: str, milliseconds: float, receive: Receive, send: Send, body: bytes
    ) -> None:
        """Wait for a worker and for the work, unless the client closes the connection."""
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()

            group.start_soon(watch)
            async with self._workers[service]:
                await sleep_ms(milliseconds)
            await reply(send, 200, body)
            group.cancel_scope.cancel()


async def read_body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body


async def reply(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
