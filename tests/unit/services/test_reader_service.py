from collections.abc import Sequence
from typing import Any

import httpx
from fastapi import FastAPI

from chassis.http.app import ServiceSpec, create_service
from contracts import reader as contract
from contracts.reader import ReadReply
from services.reader.app import create_app
from services.reader.engine import Answer, Passage, PassageKind, Query, Reader, Span
from services.reader.routes import MAX_CHARACTERS, router
from services.reader.settings import ReaderSettings
from tests.live import live

TEXTS = [
    "The harbour was dredged twice.",
    "🗼 The tower was built by Ada Émile in 1907. It is 71 m tall.",
    "The tower was painted red. It opened in 1912.",
]


class LastWords(Reader):
    """Answers with the last word of each passage, the last passage first, and keeps its calls."""

    name = "last-words"

    def __init__(self) -> None:
        self.calls: list[tuple[Query, Sequence[Passage], int]] = []

    def read(self, query: Query, passages: Sequence[Passage], top_n: int = 1) -> list[Answer]:
        """See the protocol."""
        self.calls.append((query, passages, top_n))
        return [self._last(index, passages[index].text) for index in reversed(range(len(passages)))][:top_n]

    @staticmethod
    def _last(index: int, text: str) -> Answer:
        end = len(text.rstrip("."))
        return Answer(index, Span(text.rfind(" ") + 1, end), Span(0, len(text)), "It is said.", 0.75)


def app_of(reader: Reader) -> FastAPI:
    spec = ServiceSpec(
        name="reader", routers=[router], open_engine=lambda _: reader, probe=lambda engine: engine.name
    )
    return create_service(spec, ReaderSettings(port=0))


def body(**changes: Any) -> dict[str, Any]:
    return {"question": "How tall is it?", "passages": [{"text": text} for text in TEXTS]} | changes


async def send(reader: Reader, **changes: Any) -> httpx.Response:
    async with live(app_of(reader)) as client:
        return await client.post("/v1/read", json=body(**changes))


async def test_spans_are_verbatim_in_code_points() -> None:
    reply = ReadReply.model_validate((await send(LastWords(), top_n=16)).json())
    assert [answer.passage_index for answer in reply.answers] == [2, 1, 0]
    for answer in reply.answers:
        text = TEXTS[answer.passage_index]
        for span in (answer.span, answer.sentence):
            assert text[span.start : span.end] == span.text
    assert reply.answers[1].span.text == "tall"
    assert (reply.answers[0].spoken, reply.answers[0].probability) == ("It is said.", 0.75)
    assert reply.model == "last-words"


async def test_engine_gets_every_request_field() -> None:
    reader = LastWords()
    box = {"left": 0.1, "top": 0.2, "right": 0.3, "bottom": 0.4}
    passages = [
        {"text": "RED TOWER", "kind": "photo", "boxes": [box]},
        {"text": "It is red.", "kind": "attribute", "title": "Red Tower"},
        {"text": "A page."},
    ]
    history = [{"question": "What is this?", "answer": "The Red Tower."}]
    reply = await send(reader, passages=passages, subject="Red Tower", history=history)
    assert len(reply.json()["answers"]) == 1
    expected = [
        Passage("RED TOWER", "", PassageKind.PHOTO, ((0.1, 0.2, 0.3, 0.4),)),
        Passage("It is red.", "Red Tower", PassageKind.ATTRIBUTE),
        Passage("A page."),
    ]
    assert reader.calls == [(Query("How tall is it?", "Red Tower"), expected, 1)]
    assert all(isinstance(passage.kind, PassageKind) for passage in reader.calls[0][1])


def test_passage_kinds_equal_the_contracts() -> None:
    assert [(kind.name, kind.value) for kind in PassageKind] == [
        (kind.name, kind.value) for kind in contract.PassageKind
    ]


async def test_passages_that_are_too_long_together_are_refused() -> None:
    reader = LastWords()
    long = [{"text": "x" * 20_000}] * (MAX_CHARACTERS // 20_000)
    assert (await send(reader, passages=long)).status_code == 200
    reply = await send(reader, passages=[*long, {"text": "", "title": "y"}])
    assert (reply.status_code, reply.json()["type"]) == (422, "urn:loreglass:problem:invalid_request")
    assert str(MAX_CHARACTERS) in reply.json()["detail"]
    assert len(reader.calls) == 1


async def test_builtin_engine_reads() -> None:
    async with live(create_app(ReaderSettings(port=0))) as client:
        reply = await client.post("/v1/read", json=body(question="Who built the tower?", top_n=16))
        for passages in ([], [{"text": ""}], [{"text": "  \n "}]):
            empty = await client.post("/v1/read", json=body(passages=passages))
            assert (empty.status_code, empty.json()["answers"]) == (200, [])
    answers = ReadReply.model_validate(reply.json()).answers
    assert answers[0].span.text == "Ada Émile"
    probabilities = [answer.probability for answer in answers]
    assert probabilities == sorted(probabilities, reverse=True)
    for answer in answers:
        assert answer.sentence.start <= answer.span.start < answer.span.end <= answer.sentence.end
        assert 0 < len(answer.spoken.split()) <= 25
