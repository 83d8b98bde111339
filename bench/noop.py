"""`python -m bench.noop`: every model service on one socket, each answering at once.

Replies keep the contracts and never change but for the reader's, which points into what it is sent, so that
what is left to measure is everything else. `POST
/noop/delay` (body: milliseconds) makes them slow; `GET /noop/counts` tells calls by path, how many are in
work and how many callers left before their reply.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping

import anyio
from starlette.types import Receive, Scope, Send

from bench.serving import announced
from chassis.http.serving import listen
from contracts.collections import Collections
from contracts.cropper import CropReply
from contracts.domain_router import Classification, ClassifyReply, Domain
from contracts.geometry import Point
from contracts.image_search import ImageHit, ImageSearchReply
from contracts.message import Message
from contracts.ocr import OcrReply, TextLine
from contracts.operations import Health, Info
from contracts.reader import ReadAnswer, ReadReply, ReadRequest, TextSpan
from contracts.reranker import RerankReply, RerankResult, RerankUsage
from contracts.text_search import TextHit, TextSearchReply
from contracts.verifier import VerifyReply

_CORNERS = [Point(x=100, y=100), Point(x=700, y=100), Point(x=700, y=160), Point(x=100, y=160)]
_LINES = ("OPENING HOURS", "Monday to Friday 9:00-17:00", "Saturday 10:00-14:00")
_READ = "10:00-14:00"
"""What the reader finds on the sign."""
_HITS = 5


def replies() -> dict[str, Message]:
    """What each path answers."""
    domains = list(Domain)
    label = Domain.TEXT_UNDERSTANDING
    classification = Classification(
        index=domains.index(label), label=label, probs=[1 / len(domains)] * len(domains), num_classes=13
    )
    hit = ImageHit(
        id="1",
        score=0.95,
        entity="Alder Hall",
        attributes={"opened": "1907"},
        title="Alder Hall",
        image_index=0,
    )
    pages = [
        TextHit(
            id=str(rank),
            url=f"https://halls.example/{rank}",
            title="Alder Hall",
            snippet=f"Alder Hall was opened in 1907 and has {rank + 2} floors.",
            score=0.9,
            query_indexes=[0],
        )
        for rank in range(_HITS)
    ]
    ranked = [RerankResult(index=index, relevance_score=0.9) for index in range(_HITS)]
    return {
        "/v1/ocr": OcrReply(
            lines=[TextLine(text=text, score=0.98, quadrilateral=_CORNERS) for text in _LINES],
            width=1280,
            height=960,
        ),
        "/v1/classify": ClassifyReply(id="1", model="noop", data=[classification]),
        "/v1/image-search": ImageSearchReply(hits=[hit], collection="things"),
        "/v1/crop": CropReply(regions=[], width=1280, height=960),
        "/v1/text-search": TextSearchReply(hits=pages, collection="pages"),
        "/v1/rerank": RerankReply(id="1", model="noop", results=ranked, usage=RerankUsage(total_tokens=1)),
        "/v1/verify": VerifyReply(supported=True, probability=0.95, checks=[]),
        # What a gateway asks while it starts, again and again for half a minute where nobody says.
        "/info": Info(service="noop", version="0", engine="noop", device="cpu", dtype=""),
        "/v1/collections": Collections(collections=[]),
        "/health/ready": Health(status="ok"),
        "/health/live": Health(status="ok"),
    }


def read(content: bytes) -> ReadReply:
    """The hours on the sign, where they are among the passages."""
    for index, passage in enumerate(ReadRequest.model_validate_json(content).passages):
        if (start := passage.text.find(_READ)) >= 0:
            line = passage.text.rfind("\n", 0, start) + 1
            end = start + len(_READ)
            span = TextSpan(start=start, end=end, text=_READ)
            sentence = TextSpan(start=line, end=end, text=passage.text[line:end])
            answer = ReadAnswer(
                passage_index=index, span=span, sentence=sentence, spoken=f"{_READ}.", probability=0.99
            )
            return ReadReply(model="noop", answers=[answer])
    return ReadReply(model="noop", answers=[])


class NoopServices:
    """A pure ASGI app, so that it costs next to nothing."""

    def __init__(self, replies: Mapping[str, Message]) -> None:
        self._bodies = {path: reply.model_dump_json().encode() for path, reply in replies.items()}
        self._delay_s = 0.0
        self._calls: Counter[str] = Counter()
        self._in_work = 0
        self._left = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        body, path = await _read(receive), scope["path"]
        if path == "/noop/delay":
            self._delay_s = float(body) / 1000
            await _reply(send, b"{}")
        elif path == "/noop/counts":
            counts = {"calls": dict(self._calls), "in_work": self._in_work, "left": self._left}
            await _reply(send, json.dumps(counts).encode())
        else:
            await self._serve(path, body, receive, send)

    async def _serve(self, path: str, body: bytes, receive: Receive, send: Send) -> None:
        self._calls[path] += 1
        if self._delay_s and path.startswith("/v1/") and await self._abandoned(receive):
            return
        found = read(body).model_dump_json().encode() if path == "/v1/read" else self._bodies[path]
        await _reply(send, found)

    async def _abandoned(self, receive: Receive) -> bool:
        """Wait out the delay; true when the caller leaves before its end."""
        self._in_work += 1
        try:
            async with asyncio.timeout(self._delay_s):
                while (await receive())["type"] != "http.disconnect":
                    pass
            self._left += 1
        except TimeoutError:
            return False
        finally:
            self._in_work -= 1
        return True


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def _read(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body


async def _reply(send: Send, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    anyio.run(
        announced, NoopServices(replies()), listen("127.0.0.1", 0), backend_options={"use_uvloop": True}
    )
