"""Questions that the model cannot look at, the profile without a model, and services that get the photo."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from chassis.errors import DependencyUnavailable
from contracts.answer import CitationKind, Reason
from gateway.pipelines.port import PAPER_PIPELINES
from gateway.reasoning.refusals import is_refusal
from gateway.state import Entity, Photo, Query, Turn
from gateway.steps.evidence import fused_queries
from tests.live import closed_port
from tests.unit.gateway.fakes import (
    BOOK,
    CITED_AUTHOR,
    PAGES,
    FakeServices,
    Mood,
    image_hit,
    images,
    indexed,
    pages,
)
from tests.unit.gateway.pipelines import PHOTO, Result, loreglass
from tests.unit.gateway.platform import World, gateway_before
from tests.unit.gateway.reasoners import FailingReasoner, ScriptedReasoner, lookup_draft
from tests.unit.gateway.test_fallback import BrokenModel

QUESTION = "Who wrote The Salt Road?"
FOLLOW_UP = "And how many pages does it have?"
REWRITTEN = "How many pages does The Salt Road have?"
AWAY = DependencyUnavailable()
HISTORY = (Turn(QUESTION, "Mira Holm.", False),)


async def ask(reasoner: ScriptedReasoner, question: str = QUESTION, **more: Any) -> tuple[Result, list[str]]:
    """Put one question without a photo to the default pipeline; its result and text queries."""
    result = await loreglass(reasoner, question=question, **({"photo": None} | more))
    (search,) = result.services.text_search.calls
    return result, search.queries


def blind(reasoner: ScriptedReasoner) -> ScriptedReasoner:
    """Return the reasoner with drafting turned off."""
    reasoner.looks = False
    return reasoner


@pytest.mark.parametrize(
    ("reasoner", "question", "history", "searched", "degraded"),
    [
        (ScriptedReasoner(), QUESTION, (), [QUESTION], []),
        (ScriptedReasoner(rewritten=REWRITTEN), FOLLOW_UP, HISTORY, [FOLLOW_UP, REWRITTEN], []),
        (FailingReasoner(AWAY, "rewrite"), FOLLOW_UP, HISTORY, [FOLLOW_UP], ["query_rewrite"]),
    ],
    ids=["a first question", "a follow-up", "one that cannot be rewritten"],
)
async def test_follow_up_without_a_photo_is_searched_as_is_and_rewritten(
    reasoner: ScriptedReasoner, question: str, history: tuple[Turn, ...], searched: list[str], degraded: Any
) -> None:
    result, queries = await ask(blind(reasoner), question, history=history)
    assert (queries, result.run.degraded) == (searched, degraded)
    assert [query.history for query in reasoner.rewrites] == [HISTORY] * (len(searched) - 1)
    assert (reasoner.queries, "draft" in result.stages) == ([], False)
    assert ("query_rewrite" in result.stages) is bool(history)
    assert result.outcome.reason is Reason.ANSWERED


async def test_photo_that_the_model_does_not_see_is_drafted_by_the_fallback() -> None:
    reasoner, fallback = ScriptedReasoner(looks=False), ScriptedReasoner(lookup_draft())
    result, _ = await ask(reasoner, "Who wrote this?", photo=PHOTO, history=HISTORY, fallback=fallback)
    assert reasoner.queries == reasoner.rewrites == []
    assert len(fallback.queries) == 1
    assert "lite_draft" in result.stages
    assert result.outcome.entity is not None
    assert result.outcome.entity.name == BOOK
    assert result.run.degraded == []
    assert fallback.contexts == []  # the model answers


async def test_model_that_sees_photos_rewrites_nothing() -> None:
    result, _ = await ask(reasoner := ScriptedReasoner(), FOLLOW_UP, photo=PHOTO, history=HISTORY)
    assert len(reasoner.queries) == 1
    assert reasoner.rewrites == []
    assert "query_rewrite" not in result.stages


IT, FIAT = "How long is it?", "How long is a Fiat 500?"
SIZES = ("length in metres", "{entity} size")


@pytest.mark.parametrize(
    ("question", "named", "written", "queries"),
    [
        (IT, None, SIZES, (IT, "length in metres")),
        (IT, "Fiat 500", SIZES, (f"Fiat 500 {IT}", "length in metres", "Fiat 500 size")),
        (FIAT, "Fiat 500", SIZES, (FIAT, "length in metres", "Fiat 500 size")),
        (QUESTION, None, (QUESTION, " ", "Mira Holm"), (QUESTION, "Mira Holm")),
    ],
    ids=["unnamed", "named", "named in the question", "repeated"],
)
def test_the_question_itself_is_always_searched_first_and_once(
    question: str, named: str | None, written: tuple[str, ...], queries: tuple[str, ...]
) -> None:
    entity = Entity(named, 0.9) if named else None
    assert fused_queries(Query(question, PHOTO), lookup_draft(sub_queries=written), entity) == queries


CASTLE = "Castle of Aubrac"


@pytest.fixture
async def pocket(services: FakeServices) -> AsyncIterator[World]:
    async with gateway_before(services, pocket=True) as world:
        yield world


async def test_answer_is_read_from_the_photos_index_entry(pocket: World, services: FakeServices) -> None:
    answer = await pocket.ask("Who wrote this book?")
    assert (answer.answer, answer.reason) == ("Mira Holm.", Reason.ANSWERED)
    assert [(each.snippet, each.kind) for each in answer.citations] == [(CITED_AUTHOR, CitationKind.IMAGE)]
    assert services.reader.calls[-1].subject == "The Salt Road"
    assert not services.collections.calls  # something was found
    needy = await pocket.ask("Who wrote this?", photo=None)
    assert (needy.reason, needy.abstained) == (Reason.NEEDS_PHOTO, True)
    assert needy.answer == "I don't know. I need a photo to see what you mean."


async def test_question_without_photo_and_session_is_answered_from_pages(
    pocket: World, services: FakeServices
) -> None:
    answer = await pocket.ask("How many pages has The Salt Road?", photo=None)
    assert (answer.answer, answer.reason) == ("312 pages.", Reason.ANSWERED)
    assert [each.snippet for each in answer.citations] == [PAGES]
    assert not services.image_search.calls
    assert not services.ocr.calls
    following = await pocket.ask("how many pages does it have?", photo=None, session_id=answer.session_id)
    assert following.answer == "312 pages."


async def test_landmark_in_view_does_not_answer_other_questions(
    pocket: World, services: FakeServices
) -> None:
    services.image_search.reply = images(image_hit(CASTLE, 0.99, country="France", opened="1931"))
    services.text_search.reply = pages()
    answer = await pocket.ask("Where does the gold in the parliamentary mace come from?")
    assert (answer.abstained, answer.entity) == (True, None)
    assert all(CASTLE not in passage.text for call in services.reader.calls for passage in call.passages)


async def test_an_empty_index_is_reported_only_if_it_is_empty(pocket: World, services: FakeServices) -> None:
    services.find_nothing()
    for services.collections.mood in (Mood.WORKS, Mood.CRASHES, Mood.TALKS_NONSENSE):
        assert (await pocket.ask("Who wrote this book?")).reason is Reason.NO_EVIDENCE
    services.collections.mood, services.collections.reply = Mood.WORKS, indexed(0)
    answer = await pocket.ask("Who wrote this book?")
    assert answer.reason is Reason.NOTHING_INDEXED
    assert answer.answer == "I don't know. There is nothing in the index yet."


async def test_other_language_is_refused_in_that_language(pocket: World) -> None:
    answer = await pocket.ask("Wer hat dieses Buch geschrieben?")
    assert answer.reason is Reason.LANGUAGE
    assert answer.answer.startswith("Das weiß ich nicht. Bisher verstehe ich nur Fragen auf Englisch.")
    assert answer.answer.endswith("I can only read English questions so far.")
    assert answer.advice == "Bitte frag auf Englisch. Ask it in English."
    assert is_refusal(answer.answer)
    untranslated = await pocket.ask("இந்த புத்தகத்தை எழுதியவர் யார்?")
    assert untranslated.answer == "I don't know. I can only read English questions so far."
    assert untranslated.advice == "Ask it in English."


async def test_gateway_without_its_reader_refuses(pocket: World, services: FakeServices) -> None:
    services.reader.mood = Mood.BUSY
    assert (await pocket.ask("Who wrote this book?")).reason is Reason.OVERLOADED
    model = BrokenModel(AWAY)
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


@pytest.mark.parametrize(
    ("takes", "photo", "sent"),
    [(("text", "image"), PHOTO, PHOTO.jpeg), (("text",), PHOTO, None), (("text", "image"), None, None)],
    ids=["takes images", "takes texts", "no photo"],
)
async def test_services_that_take_images_get_the_photo_if_there_is_one(
    takes: tuple[str, ...], photo: Photo | None, sent: bytes | None
) -> None:
    services = FakeServices()
    services.takes = takes
    await loreglass(services=services, photo=photo)
    assert services.photos == [("text_search", sent), ("reranker", sent)]
