"""The Python client against a real gateway on a real socket."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from io import BytesIO

import httpx
import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Path

from chassis.errors import (
    CorruptImage,
    DependencyUnavailable,
    InvalidRequest,
    LoreglassError,
    NotReady,
    SessionNotFound,
    TraceNotFound,
)
from clients.python import LoreglassClient, StreamEvent
from contracts.answer import Answer, Citation, CitationKind, Reason, Route, StageEvent, TokenEvent
from contracts.errors import Problem
from gateway.state import Query
from gateway.steps.conclusion import Outcome
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway

pytestmark = pytest.mark.anyio

ODD_TEXT = "Line\u2028separator and \x85 stay inside."
CITATION = Citation(title="A page", url="u", snippet="quoted", score=0.9, kind=CitationKind.PAGE)


def photo(colour: str = "teal") -> bytes:
    buffer = BytesIO()
    Image.new("RGB", (64, 48), colour).save(buffer, "JPEG")
    return buffer.getvalue()


def follow(ask: Query) -> Outcome:
    if "broken" in ask.question:
        raise NotReady("Not today.")
    said = ODD_TEXT if "odd" in ask.question else f"turn {len(ask.history) + 1}"
    return Outcome(said, Reason.ANSWERED, 0.8, Route.RAG, citations=(CITATION,))


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[LoreglassClient, ScriptedPipeline]]:
    pipeline = ScriptedPipeline(follow)
    async with scripted_gateway(pipeline) as url, LoreglassClient(url) as client:
        yield client, pipeline


async def collect(client: LoreglassClient, question: str) -> list[StreamEvent]:
    async with aclosing(client.ask_stream(question, photo())) as events:
        return [event async for event in events]


async def test_a_conversation_goes_on_without_sending_the_photo_again() -> None:
    async with connected() as (client, pipeline):
        first = await client.ask("what is this?", photo())
        second = await client.ask("and who made it?", session_id=first.session_id)
    assert (first.answer, second.answer) == ("turn 1", "turn 2")
    assert second.session_id == first.session_id
    assert [ask.photo_is_new for ask in pipeline.asked] == [True, False]
    assert pipeline.asked[1].photo == pipeline.asked[0].photo


async def test_a_deleted_session_is_gone() -> None:
    async with connected() as (client, _):
        answer = await client.ask("what is this?", photo())
        await client.delete_session(answer.session_id)
        with pytest.raises(SessionNotFound):
            await client.ask("and now?", session_id=answer.session_id)
        with pytest.raises(SessionNotFound):
            await client.delete_session(answer.session_id)


async def test_the_trace_of_an_answer_names_its_stages() -> None:
    async with connected() as (client, _):
        answer = await client.ask("what is this?", photo(), deadline_ms=4000)
        trace = await client.trace(answer.trace_id)
    assert trace.deadline_ms == 4000
    assert [stage.stage for stage in trace.stages] == ["answer", "session"]


async def test_a_stream_ends_with_the_same_answer() -> None:
    async with connected() as (client, _):
        events = await collect(client, "something odd")
    kinds = list(dict.fromkeys(type(event) for event in events))
    assert kinds == [StageEvent, Citation, TokenEvent, Answer]
    assert "".join(event.text for event in events if isinstance(event, TokenEvent)) == ODD_TEXT
    assert isinstance(events[-1], Answer)
    assert events[-1].answer == ODD_TEXT


async def test_a_failure_inside_a_stream_is_its_last_event() -> None:
    async with connected() as (client, _):
        events = await collect(client, "something broken")
    assert isinstance(events[-1], Problem)
    assert events[-1].type.endswith("not_ready")


@pytest.mark.parametrize(
    ("expected", "arguments"),
    [
        (InvalidRequest, {"question": " ", "photo": photo()}),
        (InvalidRequest, {"question": "q", "photo": photo(), "deadline_ms": 0}),
        (InvalidRequest, {"question": "q", "photo": photo(), "deadline_ms": -1}),
        (InvalidRequest, {"question": "q", "photo": photo(), "deadline_ms": 10**9}),
        (CorruptImage, {"question": "q", "photo": photo()[:-300]}),
        (SessionNotFound, {"question": "q", "session_id": "nobody"}),
        (NotReady, {"question": "broken", "photo": photo()}),
    ],
)
async def test_the_class_that_the_gateway_raised_is_raised_here(
    expected: type[LoreglassError], arguments: dict[str, object]
) -> None:
    async with connected() as (client, _):
        with pytest.raises(expected):
            await client.ask(**arguments)  # type: ignore[arg-type]


async def test_a_refusal_before_the_stream_starts_is_raised() -> None:
    async with connected() as (client, _):
        with pytest.raises(InvalidRequest):
            await collect(client, " ")


async def test_an_unknown_trace_is_not_found() -> None:
    async with connected() as (client, _):
        with pytest.raises(TraceNotFound):
            await client.trace("0" * 32)


async def test_a_gateway_that_is_not_there_is_named() -> None:
    async with LoreglassClient("http://127.0.0.1:9") as client:
        with pytest.raises(DependencyUnavailable, match="gateway"):
            await client.ask("q", photo())
        with pytest.raises(DependencyUnavailable, match="gateway"):
            await client.delete_session("s")
        with pytest.raises(DependencyUnavailable, match="gateway"):
            await collect(client, "q")


def serving(body: bytes, status: int = 200, kind: str = "text/event-stream") -> httpx.AsyncClient:
    """An HTTP client whose server always says this."""

    async def reply(_: Request) -> Response:
        return Response(body, status, media_type=kind)

    app = Starlette(routes=[Path("/answer", reply, methods=["POST"])])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app))


async def test_a_stream_may_hold_comments_unknown_events_and_carriage_returns() -> None:
    body = b': hello\n\nevent: novelty\ndata: {}\n\nevent: token\r\ndata: {"text":\r\ndata: "hi"}\r\n\r\n'
    async with serving(body + b'event: token\ndata: {"text": "cut"}') as http:
        stream = LoreglassClient("http://gateway", http).ask_stream("q", photo())
        first = await anext(stream)
        with pytest.raises(DependencyUnavailable, match="broke off"):
            await anext(stream)
    assert first == TokenEvent(text="hi")


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (b"<html>", 502, "text/html"),
        (b"not json", 500, "application/problem+json"),
        (b"event: final\ndata: {}\n\n", 200, "text/event-stream"),
    ],
)
async def test_a_reply_that_breaks_the_contract_is_an_error_of_ours(
    body: bytes, status: int, kind: str
) -> None:
    async with serving(body, status, kind) as http:
        client = LoreglassClient("http://gateway", http)
        with pytest.raises(DependencyUnavailable):
            await collect(client, "q")


async def test_a_borrowed_http_client_stays_open() -> None:
    async with httpx.AsyncClient() as http:
        async with LoreglassClient("http://gateway", http):
            pass
        assert not http.is_closed
