"""A refusal brings the passage that comes closest to an answer, through every interface of the gateway."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from chassis.errors import DeadlineExceeded, DependencyUnavailable, LoreglassError, Overloaded
from contracts import headers
from contracts.answer import Answer, Citation, CitationKind, Reason, Route, Verification
from contracts.image_search import ImageSearchReply
from contracts.text_search import TextSearchReply
from gateway.serving.closest import SPOKEN_CHARS, in_words
from gateway.state import Context, Evidence, Quote, Reply, Unverified
from gateway.steps.conclusion import (
    CLOSEST_CHARS,
    Outcome,
    closest_of,
    conclude,
    refusal,
    with_caution,
)
from gateway.thresholds import load_thresholds
from tests.speech_servers import SpeechServers
from tests.unit.gateway.device_bytes import phone
from tests.unit.gateway.fakes import BOOK, PAGES, FakeServices
from tests.unit.gateway.platform import PHOTO, QUESTION, World, gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner
from tests.unit.gateway.test_pocket_whole_way import nothing_found
from tests.wire import send_raw

pytestmark = pytest.mark.anyio

IN_WORDS = f'The closest I found: "{PAGES}" ({BOOK}).'
CATHEDRAL = (
    "St Paul's Cathedral stands on Ludgate Hill. "
    + "Services are held there every day of the week. " * 6
    + "Its dome is 111 m tall. The cross on top was replaced in 1821. "
    + "Visitors buy tickets at the west door. " * 6
).strip()


def page(text: str, title: str = "St Paul's Cathedral", score: float = 0.9) -> Evidence:
    return Evidence(text, title, "https://pages.example/st-pauls", CitationKind.PAGE, score)


def unsure(reason: Reason = Reason.MODEL_UNSURE) -> ScriptedReasoner:
    return ScriptedReasoner(say=lambda *_: Reply(None, 0.0, reason=reason))


@pytest.fixture
async def world(services: FakeServices) -> AsyncIterator[World]:
    async with gateway_before(services, unsure()) as made:
        yield made


def test_the_closest_sentences_of_the_best_piece_are_whole_verbatim_and_short() -> None:
    closest = closest_of("How tall is the dome?", (page(CATHEDRAL), page("The dome is tall.", score=0.2)))
    assert closest is not None
    assert "Its dome is 111 m tall." in closest.snippet
    assert closest.snippet in CATHEDRAL
    assert closest.snippet.endswith(".")
    assert len(closest.snippet) <= CLOSEST_CHARS
    assert (closest.title, closest.kind) == ("St Paul's Cathedral", CitationKind.PAGE)


def test_a_sentence_that_is_too_long_ends_behind_a_word() -> None:
    closest = closest_of("How tall?", (page("tall houses and towers " * 50),))
    assert closest is not None
    assert set(closest.snippet.split()) == {"tall", "houses", "and", "towers"}


def test_what_the_refused_reply_quotes_is_closest_as_a_whole_sentence() -> None:
    evidence = (page(PAGES), page(CATHEDRAL))
    reply = Reply("1821", 0.0, (Quote(0, "no such words"), Quote(1, "replaced in 1821")))
    outcome = conclude(
        "When?", reply, None, Context(Route.RAG, evidence=evidence), None, {}, load_thresholds()
    )
    assert outcome.abstained
    assert outcome.closest is not None
    assert "The cross on top was replaced in 1821." in outcome.closest.snippet


@pytest.mark.parametrize(
    "reason", [Reason.LANGUAGE, Reason.NEEDS_PHOTO, Reason.NOT_HEARD, Reason.NOTHING_INDEXED]
)
def test_a_refusal_of_the_question_itself_brings_nothing(reason: Reason) -> None:
    closest = closest_of("How tall?", (page(CATHEDRAL),))
    assert refusal(reason, Route.RAG, closest=closest).closest is None
    assert refusal(Reason.OVERLOADED, Route.RAG, closest=closest).closest is closest


def test_an_answer_that_is_withheld_leaves_its_source() -> None:
    source = Citation(title=BOOK, url="", snippet=PAGES, score=0.9, kind=CitationKind.PAGE)
    answer = Outcome(
        "312.", Reason.ANSWERED, 0.9, Route.RAG, citations=(source,), verification=Verification.UNVERIFIED
    )
    outcome = with_caution(answer, Unverified.REFUSE)
    assert (outcome.abstained, outcome.closest, outcome.citations) == (True, source, ())


def test_markup_and_addresses_of_a_page_do_not_reach_a_chat() -> None:
    hostile = (
        'Tall ![x](https://evil.example/?q=secret) <img src="//evil.example"> "tower" at https://a.example/b.'
    )
    closest = closest_of("How tall?", (page(hostile, title="A [link](https://evil.example)"),))
    told = in_words(replace(refusal(Reason.MODEL_UNSURE, Route.RAG), closest=closest))
    assert told == "The closest I found: \"Tall x 'tower' at a.example\" (A link)."


def test_what_is_spoken_is_short_and_holds_the_words_asked_for() -> None:
    closest = closest_of("How tall is the dome?", (page(CATHEDRAL),))
    told = in_words(
        replace(refusal(Reason.MODEL_UNSURE, Route.RAG), closest=closest),
        "How tall is the dome?",
        SPOKEN_CHARS,
    )
    assert "Its dome is 111 m tall." in told
    assert len(told) < SPOKEN_CHARS + 60


async def test_the_answer_its_stream_and_its_replay_have_it_and_its_trace_does_not(world: World) -> None:
    sent: dict[str, Any] = {
        "files": {"image": ("p.jpg", PHOTO, "image/jpeg")},
        "data": {"question": QUESTION},
    }
    keyed = {**sent, "headers": {headers.IDEMPOTENCY_KEY: "asked-once"}}
    first, again = [await world.client.post("/answer", **keyed) for _ in range(2)]
    answer = Answer.model_validate_json(first.content)
    assert (answer.abstained, answer.citations, answer.confidence) == (True, [], 0.0)
    assert answer.closest is not None
    assert (answer.closest.snippet, answer.closest.title) == (PAGES, BOOK)
    assert PAGES not in answer.answer
    assert again.headers[headers.REPLAYED] == "true"
    assert Answer.model_validate_json(again.content).closest == answer.closest
    trace = await world.client.get(f"/traces/{answer.trace_id}")
    assert trace.status_code == 200
    assert PAGES not in trace.text
    stream = await world.client.post("/answer", **sent, headers={"Accept": "text/event-stream"})
    last = stream.text.strip().split("\n\n")[-1].removeprefix("event: final\ndata: ")
    assert Answer.model_validate_json(last).closest == answer.closest


async def test_an_answer_has_none(services: FakeServices) -> None:
    async with gateway_before(services) as world:
        answer = await world.ask()
    assert (answer.abstained, answer.closest) == (False, None)


async def test_without_a_model_it_is_given_too(services: FakeServices) -> None:
    services.image_search.reply = ImageSearchReply(hits=[], collection="images")
    async with gateway_before(services, pocket=True) as world:
        answer = await world.ask("When was The Salt Road printed?", photo=None)
    assert answer.abstained
    assert answer.closest is not None
    assert answer.closest.snippet == PAGES


async def test_the_print_of_a_photo_may_be_the_closest(services: FakeServices) -> None:
    services.image_search.reply = ImageSearchReply(hits=[], collection="images")
    services.text_search.reply = TextSearchReply(hits=[], collection="pages")
    async with gateway_before(services, unsure()) as world:
        answer = await world.ask()
    assert answer.closest is not None
    assert (answer.closest.snippet, answer.closest.kind) == ("THE SALT ROAD", CitationKind.PHOTO)


async def test_where_nothing_was_found_there_is_none(services: FakeServices) -> None:
    nothing_found(services)
    async with gateway_before(services, unsure()) as world:
        answer = await world.ask()
    assert (answer.reason, answer.closest) == (Reason.NO_EVIDENCE, None)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (DeadlineExceeded(), Reason.TIMED_OUT),
        (Overloaded(retry_after_s=1), Reason.OVERLOADED),
        (DependencyUnavailable(), Reason.UNAVAILABLE),
    ],
)
async def test_a_model_that_is_late_busy_or_away_leaves_what_was_found(
    services: FakeServices, failure: LoreglassError, reason: Reason
) -> None:
    def fail(*_: object) -> Reply:
        raise failure

    async with gateway_before(services, ScriptedReasoner(say=fail)) as world:
        answer = await world.ask()
    assert answer.reason is reason
    assert answer.closest is not None
    assert answer.closest.snippet == PAGES


@pytest.mark.parametrize("stream", [False, True])
async def test_a_chat_says_it_and_stays_a_refusal_in_the_next_turn(world: World, stream: bool) -> None:
    messages = [{"role": "user", "content": "Who printed The Salt Road?"}]
    said = await chat(world, messages, stream=stream)
    assert said.startswith("I don't know. ")
    assert IN_WORDS in said
    reply = {"role": "assistant", "content": said}
    await chat(world, [*messages, reply, {"role": "user", "content": "And who sold it?"}])
    [turn] = world.reasoner.asked[-1].history
    assert turn.abstained


async def chat(world: World, messages: list[dict[str, str]], *, stream: bool = False) -> str:
    body = {"model": "loreglass", "messages": messages, "stream": stream}
    reply = await world.client.post("/v1/chat/completions", json=body)
    assert reply.status_code == 200
    if not stream:
        return str(reply.json()["choices"][0]["message"]["content"])
    return "".join(delta_content(reply))


def delta_content(reply: httpx.Response) -> list[str]:
    events = [line.removeprefix("data: ") for line in reply.text.splitlines() if line.startswith("data: {")]
    choices = [choice for event in events for choice in json.loads(event)["choices"]]
    return [choice["delta"].get("content") or "" for choice in choices]


async def test_a_session_remembers_that_it_was_not_known_and_not_the_passage(world: World) -> None:
    first = await world.ask()
    await world.ask("And who sold it?", session_id=first.session_id)
    [turn] = world.reasoner.asked[-1].history
    assert (turn.abstained, turn.answer) == (True, first.answer)


async def test_glasses_read_it_between_the_refusal_and_the_advice(world: World) -> None:
    answer = await world.ask()
    reply = await send_raw(world.url, phone("assistant-1", PHOTO, "?question=Who%20wrote%20this%20book%3F"))
    assert reply.json()["response"] == f"{answer.answer} {IN_WORDS} {answer.advice}"


async def test_it_is_spoken(services: FakeServices) -> None:
    servers = SpeechServers()
    async with servers.up() as url, gateway_before(services, unsure(), tts_url=url) as world:
        answer = await world.ask()
        assert answer.speech is not None
        await world.client.get(answer.speech)
    assert servers.said[0]["input"] == f"{answer.answer} {IN_WORDS} {answer.advice}"
