"""The Python client against a real gateway on a real socket."""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path as File
from typing import Any

import anyio.to_thread
import httpx
import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Path

from chassis.errors import NotReady
from contracts.answer import Citation, CitationKind, Reason, Route
from gateway.state import Query
from gateway.steps.conclusion import Outcome
from loreglass_client import Answer, AsyncLoreglass, Loreglass, LoreglassError, Retries, errors, models
from loreglass_client.models import Event, StageEvent, TokenEvent
from tests.unit.chassis.pictures import encoded
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway

ODD_TEXT = "Line\u2028separator and \x85 stay inside."
CITATION = Citation(title="A page", url="u", snippet="quoted", score=0.9, kind=CitationKind.PAGE)


def photo(colour: str = "teal") -> bytes:
    return encoded(Image.new("RGB", (64, 48), colour), "JPEG")


def follow(ask: Query) -> Outcome:
    if "broken" in ask.question:
        raise NotReady("Not today.")
    text = ODD_TEXT if "odd" in ask.question else f"turn {len(ask.history) + 1}"
    return Outcome(text, Reason.ANSWERED, 0.8, Route.RAG, citations=(CITATION,))


BODY = {
    **{"answer": "a", "abstained": False, "reason": "answered", "confidence": 1, "route": "rag"},
    **{"trace_id": "t", "session_id": "nobodys"},
}


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[AsyncLoreglass, ScriptedPipeline]]:
    pipeline = ScriptedPipeline(follow)
    async with scripted_gateway(pipeline) as url, AsyncLoreglass(url) as client:
        yield client, pipeline


async def collect(client: AsyncLoreglass, question: str) -> list[Event]:
    async with aclosing(client.stream(question, photo())) as events:
        return [event async for event in events]


async def test_deleted_session_is_gone() -> None:
    async with connected() as (client, _):
        answer = await client.ask("what is this?", photo())
        await client.forget(answer.session_id)
        with pytest.raises(errors.SessionNotFound):
            await client.ask("and now?", session_id=answer.session_id)
        await client.forget(answer.session_id)  # a try whose first reply was lost


async def test_stream_ends_with_the_answer() -> None:
    async with connected() as (client, _):
        events = await collect(client, "something odd")
    kinds = list(dict.fromkeys(type(event) for event in events))
    assert kinds == [StageEvent, models.Citation, TokenEvent, Answer]
    assert "".join(event.text for event in events if isinstance(event, TokenEvent)) == ODD_TEXT


async def test_failure_in_a_stream_is_raised_with_status_and_trace() -> None:
    async with connected() as (client, _):
        with pytest.raises(errors.NotReady, match="Not today") as raised:
            await collect(client, "something broken")
        trace = await client.trace(str(raised.value.trace_id))
    assert raised.value.status == 503
    assert trace.problem is not None
    assert trace.problem.detail == "Not today."


async def test_missing_gateway_is_named() -> None:
    async with AsyncLoreglass("http://127.0.0.1:9", retries=Retries(most=0)) as client:
        for call in (client.ask("q", photo()), client.forget("s"), collect(client, "q"), client.ready()):
            with pytest.raises(errors.Unreachable, match="No Loreglass server at http:") as raised:
                await call
            assert (raised.value.kind, raised.value.status) == ("unreachable", None)


@pytest.mark.parametrize("address", ["127.0.0.1:7100", "http://", "ftp://host", "http://a:b"])
def test_bad_url_is_refused_at_once(address: str) -> None:
    for kind in (Loreglass, AsyncLoreglass):
        with pytest.raises(errors.Unreachable, match=r"Not a URL: .*http://"):
            kind(address)


def serving(body: bytes, status: int = 200, kind: str = "text/event-stream") -> httpx.AsyncClient:
    """An HTTP client whose server always says this."""

    async def reply(_: Request) -> Response:
        return Response(body, status, media_type=kind)

    app = Starlette(routes=[Path("/answer", reply, methods=["POST"])])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app))


async def test_stream_with_comments_unknown_events_and_carriage_returns() -> None:
    body = b': hello\n\nevent: novelty\ndata: {}\n\nevent: token\r\ndata: {"text":\r\ndata: "hi"}\r\n\r\n'
    async with serving(body + b'event: token\ndata: {"text": "cut"}') as http:
        stream = AsyncLoreglass("http://gateway", http=http).stream("q", photo())
        first = await anext(stream)
        with pytest.raises(errors.Unreachable, match="broke off"):
            await anext(stream)
    assert first == TokenEvent(text="hi")


@pytest.mark.parametrize(
    ("body", "status", "kind", "expected"),
    [
        (b"<html>", 502, "text/html", errors.Unreachable),
        (b"<html>", 404, "text/html", errors.BrokenReply),
        (b"not json", 500, "application/problem+json", errors.BrokenReply),
        (b"event: final\ndata: {}\n\n", 200, "text/event-stream", errors.BrokenReply),
        (b"event: error\ndata: {}\n\n", 200, "text/event-stream", errors.BrokenReply),
        (b"data: " + bytes(65 * 2**20), 200, "text/event-stream", errors.BrokenReply),
    ],
)
async def test_broken_reply_is_an_error_of_its_own(
    body: bytes, status: int, kind: str, expected: type[LoreglassError]
) -> None:
    async with serving(body, status, kind) as http:
        client = AsyncLoreglass("http://gateway", http=http, retries=Retries(most=0))
        with pytest.raises(expected):
            await collect(client, "q")


async def test_unknown_error_kind_is_passed_on() -> None:
    body = b'{"type": "urn:loreglass:problem:novelty", "title": "t", "status": 418, "detail": "d", "more": 1}'
    async with serving(body, 418, "application/problem+json") as http:
        with pytest.raises(LoreglassError) as raised:
            await AsyncLoreglass("http://gateway", http=http).ask("q")
    assert (type(raised.value), raised.value.kind) == (LoreglassError, "novelty")
    assert (raised.value.detail, raised.value.status) == ("d", 418)


async def test_unknown_enum_values_are_kept() -> None:
    answer = Answer.model_validate(BODY | {"reason": "novelty", "route": "detour", "unheard_of": {"x": 1}})
    assert (answer.reason, answer.route) == ("novelty", "detour")
    assert Answer.model_validate_json(answer.model_dump_json()) == answer
    assert Answer.model_validate(BODY).reason is models.Reason.ANSWERED


@pytest.mark.parametrize("arguments", [{"question": "\ud800"}, {"question": "q", "idempotency_key": "a\nb"}])
async def test_unsendable_text_is_an_invalid_request(arguments: dict[str, str]) -> None:
    async with connected() as (client, pipeline):
        with pytest.raises(errors.InvalidRequest):
            await client.ask(**arguments)  # type: ignore[arg-type]
    assert pipeline.queries == []


async def test_borrowed_http_client_stays_open() -> None:
    async with httpx.AsyncClient() as http:
        async with AsyncLoreglass("http://gateway", http=http):
            pass
        assert not http.is_closed
    with httpx.Client() as blocking:
        with Loreglass("http://gateway", http=blocking):
            pass
        assert not blocking.is_closed


@pytest.mark.parametrize("kind", ["bytes", "path", "text", "file"])
async def test_conversation_sends_its_photo_once_and_can_be_deleted(tmp_path: File, kind: str) -> None:
    file = tmp_path / "photo.jpg"
    file.write_bytes(photo())
    with file.open("rb") as opened:
        sources: dict[str, Any] = {"bytes": photo(), "path": file, "text": str(file), "file": opened}
        async with connected() as (client, pipeline):
            talk = client.conversation(sources[kind])
            texts = [(await talk.ask(question)).answer for question in ("what is this?", "and this?")]
            events = [event async for event in talk.stream("and that?")]
            await talk.ask("and here?", photo("red"))
            session = talk.session_id
            await talk.forget()
            with pytest.raises(errors.SessionNotFound):
                await client.ask("still there?", session_id=session)
    assert isinstance(events[-1], Answer)
    assert [*texts, events[-1].answer] == ["turn 1", "turn 2", "turn 3"]
    assert [ask.photo_is_new for ask in pipeline.queries] == [True, False, False, True]
    assert (talk.session_id, session is None) == (None, False)


async def test_conversation_sends_its_photo_again_after_a_failure() -> None:
    async with connected() as (client, pipeline):
        talk = client.conversation(photo())
        with pytest.raises(errors.NotReady):
            await talk.ask("it is broken")
        assert (await talk.ask("what is this?")).answer == "turn 1"
    assert [ask.photo is not None for ask in pipeline.queries] == [True, True]


async def test_turn_that_was_not_stored_does_not_change_the_session() -> None:
    async with serving(
        json.dumps(BODY | {"degraded": ["session"]}).encode(), kind="application/json"
    ) as http:
        talk = AsyncLoreglass("http://gateway", http=http).conversation(photo())
        await talk.ask("q")
    assert talk.session_id is None


async def test_blocking_client_does_the_same() -> None:
    def use(url: str) -> None:
        with Loreglass(url) as client:
            talk = client.conversation(photo())
            assert talk.ask("what is this?").answer == "turn 1"
            streamed = list(talk.stream("something odd"))
            assert isinstance(streamed[0], StageEvent)
            assert isinstance(streamed[-1], Answer)
            assert streamed[-1].answer == ODD_TEXT
            left = client.stream("one that nobody listens to the end", photo())
            assert isinstance(next(left), StageEvent)
            left.close()
            assert client.ask("and now?", session_id=talk.session_id).answer == "turn 3"
            assert client.ask_in([("q", "a")], "next?", photo()).answer == "turn 2"
            assert client.trace(streamed[-1].trace_id).pipeline == "loreglass"
            assert client.pipelines() == ("loreglass",)
            talk.forget()
            with pytest.raises(errors.CorruptImage):
                client.ask("q", photo()[:-300])
            with pytest.raises(errors.NotConfigured):
                client.speech(streamed[-1])

    async with connected() as (client, _):
        await anyio.to_thread.run_sync(use, str(client._base_url))


def sounding(reply: Callable[[httpx.Request], httpx.Response]) -> Loreglass:
    return Loreglass("http://gateway/base", "key", http=httpx.Client(transport=httpx.MockTransport(reply)))


def test_sound_is_requested_in_openais_shapes() -> None:
    seen: list[tuple[str, str, bytes]] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append((request.method, request.url.path, request.read()))
        assert request.headers["authorization"] == "Bearer key"
        if request.url.path.endswith("/transcriptions"):
            return httpx.Response(200, json={"text": "how high is it?", "language": "en"})
        return httpx.Response(200, content=b"RIFF")

    client = sounding(reply)
    assert client.transcribe(b"sound", language="en") == "how high is it?"
    assert client.speak("330 metres", form="wav") == b"RIFF"
    called = [("POST", f"/base/v1/audio/{path}") for path in ("transcriptions", "speech")]
    assert [(method, path) for method, path, _ in seen] == called
    assert b'name="file"; filename=' in seen[0][2]
    assert {"input": "330 metres", "response_format": "wav"}.items() <= json.loads(seen[1][2]).items()


def test_question_as_sound_and_speech_of_the_answer() -> None:
    seen: list[bytes] = []
    heard = {"transcript": "how high?", "speech": "/speech/x?until=1"}

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request.read())
        if request.method == "GET":
            return httpx.Response(200, content=str(request.url).encode())
        return httpx.Response(200, json=BODY | heard)

    client = sounding(reply)
    answer = client.ask(photo=b"photo", audio=b"sound")
    assert answer.transcript == "how high?"
    assert set(re.findall(rb'name="(audio|image|question)"', seen[0])) == {b"audio", b"image"}
    assert client.speech(answer) == b"http://gateway/base/speech/x?until=1"
    with pytest.raises(errors.BrokenReply):
        client.speech(answer.model_copy(update={"speech": "@evil.example/speech"}))
