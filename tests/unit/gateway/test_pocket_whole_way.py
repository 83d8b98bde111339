"""The pocket profile's way through the gateway: what it is asked without a photo, and why it refuses."""

from collections.abc import AsyncIterator

import pytest

from chassis.errors import DependencyUnavailable
from contracts.answer import CitationKind, Reason
from contracts.image_search import ImageSearchReply
from contracts.ocr import OcrReply
from contracts.text_search import TextSearchReply
from gateway.pipelines.port import PAPER_PIPELINES
from gateway.reasoning.refusals import is_refusal
from tests.unit.gateway.fakes import AUTHOR, PAGES, FakeServices, Mood, image_hit, indexed
from tests.unit.gateway.platform import World, closed_port, gateway_before
from tests.unit.gateway.test_fallback import BrokenModel

pytestmark = pytest.mark.anyio

CASTLE = "Castle of Aubrac"


@pytest.fixture
async def pocket(services: FakeServices) -> AsyncIterator[World]:
    async with gateway_before(services, pocket=True) as world:
        yield world


def nothing_found(services: FakeServices) -> None:
    """Searches that find nothing, and a photo without print."""
    services.ocr.reply = OcrReply(lines=[], width=96, height=64)
    services.image_search.reply = ImageSearchReply(hits=[], collection="images")
    services.text_search.reply = TextSearchReply(hits=[], collection="pages")


async def test_what_the_photo_shows_is_read_in_the_index(pocket: World, services: FakeServices) -> None:
    answer = await pocket.ask("Who wrote this book?")
    assert (answer.answer, answer.reason) == ("Mira Holm.", Reason.ANSWERED)
    assert [(each.snippet, each.kind) for each in answer.citations] == [(AUTHOR, CitationKind.IMAGE)]
    assert services.reader.calls[-1].subject == "The Salt Road"
    assert not services.collections.calls  # something was found
    needy = await pocket.ask("Who wrote this?", photo=None)
    assert (needy.reason, needy.abstained) == (Reason.NEEDS_PHOTO, True)
    assert needy.answer == "I don't know. I need a photo to see what you mean."


async def test_without_photo_and_session_pages_answer(pocket: World, services: FakeServices) -> None:
    answer = await pocket.ask("How many pages has The Salt Road?", photo=None)
    assert (answer.answer, answer.reason) == ("312 pages.", Reason.ANSWERED)
    assert [each.snippet for each in answer.citations] == [PAGES]
    assert not services.image_search.calls
    assert not services.ocr.calls
    following = await pocket.ask("how many pages does it have?", photo=None, session_id=answer.session_id)
    assert following.answer == "312 pages."


async def test_a_landmark_in_view_answers_no_question_about_another_thing(
    pocket: World, services: FakeServices
) -> None:
    known = image_hit(CASTLE, 0.99, country="France", opened="1931")
    services.image_search.reply = ImageSearchReply(hits=[known], collection="images")
    services.text_search.reply = TextSearchReply(hits=[], collection="pages")
    answer = await pocket.ask("Where does the gold in the parliamentary mace come from?")
    assert (answer.abstained, answer.entity) == (True, None)
    assert all(CASTLE not in passage.text for call in services.reader.calls for passage in call.passages)


async def test_an_empty_index_is_reported_only_if_it_is_empty(pocket: World, services: FakeServices) -> None:
    nothing_found(services)
    for services.collections.mood in (Mood.WORKS, Mood.CRASHES, Mood.TALKS_NONSENSE):
        assert (await pocket.ask("Who wrote this book?")).reason is Reason.NO_EVIDENCE
    services.collections.mood, services.collections.reply = Mood.WORKS, indexed(0)
    answer = await pocket.ask("Who wrote this book?")
    assert answer.reason is Reason.NOTHING_INDEXED
    assert answer.answer == "I don't know. There is nothing in the index yet."


async def test_a_language_that_it_cannot_read_is_said(pocket: World) -> None:
    answer = await pocket.ask("Wer hat dieses Buch geschrieben?")
    assert answer.reason is Reason.LANGUAGE
    assert answer.answer.startswith("Das weiß ich nicht. Bisher verstehe ich nur Fragen auf Englisch.")
    assert answer.answer.endswith("I can only read English questions so far.")
    assert answer.advice == "Bitte frag auf Englisch. Ask it in English."
    assert is_refusal(answer.answer)
    untranslated = await pocket.ask("இந்த புத்தகத்தை எழுதியவர் யார்?")
    assert untranslated.answer == "I don't know. I can only read English questions so far."
    assert untranslated.advice == "Ask it in English."


async def test_without_its_reader_it_refuses(pocket: World, services: FakeServices) -> None:
    services.reader.mood = Mood.BUSY
    assert (await pocket.ask("Who wrote this book?")).reason is Reason.OVERLOADED
    model = BrokenModel(DependencyUnavailable())
    async with gateway_before(services, model, down={"reader": closed_port()}, fallback=True) as world:
        answer = await world.ask("Who wrote this book?")
    assert (answer.reason, answer.degraded) == (Reason.UNAVAILABLE, ["draft", "answer", "reader"])
    assert answer.answer == "I don't know. I cannot look it up right now."


async def test_a_published_pipeline_is_refused_without_a_model(pocket: World) -> None:
    for pipeline in PAPER_PIPELINES:
        reply = await pocket.post(pipeline=pipeline)
        problem = reply.json()
        assert (reply.status_code, problem["type"].rpartition(":")[2]) == (501, "not_configured")
        assert f"The pipeline {pipeline} needs a vision-language model" in problem["detail"]
        assert "LOREGLASS_GATEWAY_REASONING=vlm" in problem["detail"]
    models = (await pocket.client.get("/v1/models")).json()["data"]
    assert [model["id"] for model in models] == ["loreglass"]


async def test_a_published_pipeline_whose_model_is_away_refuses(services: FakeServices) -> None:
    async with gateway_before(services, fallback=True) as world:
        for pipeline in PAPER_PIPELINES:
            answer = await world.ask("Who wrote this book?", pipeline=pipeline)
            assert (answer.abstained, answer.reason) == (True, Reason.UNAVAILABLE)
            assert ("draft" if pipeline == "cot" else "answer") in answer.degraded
