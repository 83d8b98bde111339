"""The reader's service."""

import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
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


class LastWords:
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


async def test_spans_are_the_passages_own_words_counted_in_code_points() -> None:
    reply = ReadReply.model_validate((await send(LastWords(), top_n=16)).json())
    assert [answer.passage_index for answer in reply.answers] == [2, 1, 0]
    for answer in reply.answers:
        text = TEXTS[answer.passage_index]
        for span in (answer.span, answer.sentence):
            assert text[span.start : span.end] == span.text
    assert reply.answers[1].span.text == "tall"
    assert (reply.answers[0].spoken, reply.answers[0].probability) == ("It is said.", 0.75)
    assert reply.model == "last-words"


async def test_one_answer_is_asked_for_unless_the_request_says_more() -> None:
    reader = LastWords()
    assert len((await send(reader)).json()["answers"]) == 1
    assert len((await send(reader, top_n=2)).json()["answers"]) == 2
    assert [top_n for _, _, top_n in reader.calls] == [1, 2]


async def test_the_engine_is_told_all_that_the_request_says() -> None:
    reader = LastWords()
    box = {"left": 0.1, "top": 0.2, "right": 0.3, "bottom": 0.4}
    passages = [
        {"text": "RED TOWER", "kind": "photo", "boxes": [box]},
        {"text": "It is red.", "kind": "attribute", "title": "Red Tower"},
        {"text": "A page."},
    ]
    history = [{"question": "What is this?", "answer": "The Red Tower."}]
    assert (await send(reader, passages=passages, subject="Red Tower", history=history)).status_code == 200
    ((query, read, _),) = reader.calls
    assert query == Query("How tall is it?", "Red Tower")
    assert all(isinstance(passage.kind, PassageKind) for passage in read)
    assert read == [
        Passage("RED TOWER", "", PassageKind.PHOTO, ((0.1, 0.2, 0.3, 0.4),)),
        Passage("It is red.", "Red Tower", PassageKind.ATTRIBUTE),
        Passage("A page."),
    ]


def test_the_engines_kinds_of_passages_are_the_contracts() -> None:
    assert [(kind.name, kind.value) for kind in PassageKind] == [
        (kind.name, kind.value) for kind in contract.PassageKind
    ]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"question": ""}, "question"),
        ({"passages": [{"text": "x"}] * 65}, "passages"),
        ({"passages": [{"text": "x", "kind": "poem"}]}, "passages.0.kind"),
        ({"passages": [{"text": "x", "titel": "y"}]}, "passages.0.titel"),
    ],
)
async def test_what_is_out_of_its_limits_is_a_problem_that_names_the_field(
    changes: dict[str, Any], field: str
) -> None:
    reply = await send(LastWords(), **changes)
    assert (reply.status_code, reply.json()["type"]) == (422, "urn:loreglass:problem:invalid_request")
    assert reply.json()["detail"].startswith(f"{field}:")


async def test_passages_that_are_too_long_together_are_refused() -> None:
    reader = LastWords()
    long = [{"text": "x" * 20_000}] * (MAX_CHARACTERS // 20_000)
    assert (await send(reader, passages=long)).status_code == 200
    reply = await send(reader, passages=[*long, {"text": "", "title": "y"}])
    assert (reply.status_code, reply.json()["type"]) == (422, "urn:loreglass:problem:invalid_request")
    assert str(MAX_CHARACTERS) in reply.json()["detail"]
    assert len(reader.calls) == 1


async def test_the_pocket_engine_reads_and_is_ready() -> None:
    async with live(create_app(ReaderSettings(port=0))) as client:
        ready = await client.get("/health/ready")
        sent = json.dumps(body(question="Who built the tower?", top_n=16))
        reply = await client.post("/v1/read", content=sent, headers={"content-type": "application/json"})
    assert ready.json() == {"status": "ok", "checks": {"engine": "ok"}}
    answers = ReadReply.model_validate(reply.json()).answers
    assert answers[0].span.text == "Ada Émile"
    probabilities = [answer.probability for answer in answers]
    assert probabilities == sorted(probabilities, reverse=True)
    for answer in answers:
        text = TEXTS[answer.passage_index]
        assert text[answer.span.start : answer.span.end] == answer.span.text
        assert answer.sentence.start <= answer.span.start < answer.span.end <= answer.sentence.end
        assert 0 < len(answer.spoken.split()) <= 25


async def test_the_pocket_engine_says_when_nothing_answers() -> None:
    async with live(create_app(ReaderSettings(port=0))) as client:
        for passages in ([], [{"text": ""}], [{"text": "  \n "}]):
            reply = await client.post("/v1/read", json=body(passages=passages))
            assert (reply.status_code, reply.json()["answers"]) == (200, [])
