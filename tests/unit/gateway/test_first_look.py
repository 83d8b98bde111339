"""Questions that the model cannot look at, and the profile without a model."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from chassis.errors import DependencyUnavailable
from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Reason
from contracts.image_search import ImageSearchReply
from contracts.ocr import OcrReply
from contracts.text_search import TextSearchReply
from gateway.pipelines.loreglass.pipeline import LoreglassPipeline
from gateway.pipelines.port import PAPER_PIPELINES
from gateway.planning.run import Run
from gateway.reasoning.refusals import is_refusal
from gateway.state import Entity, Photo, Query, Turn
from gateway.steps.conclusion import Outcome
from gateway.steps.evidence import fused_queries
from gateway.thresholds import RetrievalLimits, load_thresholds
from tests.unit.gateway.fakes import AUTHOR, BOOK, PAGES, FakeServices, Mood, image_hit, indexed
from tests.unit.gateway.platform import World, closed_port, gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner, lookup_draft
from tests.unit.gateway.stepwise import PHOTO, ScriptedSteps, clients_of, dragon
from tests.unit.gateway.test_fallback import BrokenModel

pytestmark = pytest.mark.anyio

QUESTION = "Who wrote The Salt Road?"
FOLLOW_UP = "And how many pages does it have?"
REWRITTEN = "How many pages does The Salt Road have?"
SAID = (Turn(QUESTION, "Mira Holm.", False),)


@dataclass(frozen=True)
class Looked:
    """The outcome of one question, its run, and what was searched for."""

    outcome: Outcome
    run: Run
    queries: list[str]

    @property
    def stages(self) -> set[str]:
        """The stages that ran."""
        return {stage.stage for stage in self.run.stages}


async def look(
    reasoner: ScriptedReasoner,
    question: str = QUESTION,
    photo: Photo | None = None,
    history: tuple[Turn, ...] = (),
    fallback: ScriptedReasoner | None = None,
) -> Looked:
    """Put one question to the default pipeline."""
    services = FakeServices()
    async with clients_of(services) as clients:
        pipeline = LoreglassPipeline(
            clients, reasoner, load_thresholds(), RetrievalLimits(), fallback=fallback
        )
        run = Run("trace", Deadline.after_ms(60_000))
        outcome = await pipeline.answer(Query(question, photo, history=history), run)
    (search,) = services.text_search.calls
    return Looked(outcome, run, search.queries)


async def test_a_question_without_a_photo_is_not_drafted_and_searched_as_it_is() -> None:
    reasoner = ScriptedReasoner(looks=False)
    looked = await look(reasoner)
    assert reasoner.asked == reasoner.rewrites == []
    assert looked.queries == [QUESTION]
    assert not {"draft", "query_rewrite"} & looked.stages
    assert (looked.outcome.reason, looked.run.degraded) == (Reason.ANSWERED, [])


async def test_a_follow_up_without_a_photo_is_rewritten_and_searched_beside_the_question() -> None:
    reasoner = ScriptedReasoner(looks=False, rewritten=REWRITTEN)
    looked = await look(reasoner, FOLLOW_UP, history=SAID)
    assert [query.history for query in reasoner.rewrites] == [SAID]
    assert looked.queries == [FOLLOW_UP, REWRITTEN]
    assert "query_rewrite" in looked.stages


async def test_a_follow_up_that_cannot_be_rewritten_is_searched_as_it_is() -> None:
    class Away(ScriptedReasoner):
        async def rewrite(self, query: Query, deadline: Deadline) -> str:
            raise DependencyUnavailable

    looked = await look(Away(looks=False), FOLLOW_UP, history=SAID)
    assert looked.queries == [FOLLOW_UP]
    assert looked.run.degraded == ["query_rewrite"]
    assert looked.outcome.reason is Reason.ANSWERED


async def test_a_photo_that_the_model_does_not_see_is_looked_at_by_the_services() -> None:
    reasoner, services = ScriptedReasoner(looks=False), ScriptedReasoner(lookup_draft())
    looked = await look(reasoner, "Who wrote this?", PHOTO, SAID, fallback=services)
    assert reasoner.asked == reasoner.rewrites == []
    assert len(services.asked) == 1
    assert "pocket_draft" in looked.stages
    assert looked.outcome.entity is not None
    assert looked.outcome.entity.name == BOOK
    assert looked.run.degraded == []
    assert services.found == []  # the model answers


async def test_a_model_that_looks_rewrites_nothing() -> None:
    reasoner = ScriptedReasoner()
    looked = await look(reasoner, FOLLOW_UP, PHOTO, SAID)
    assert len(reasoner.asked) == 1
    assert reasoner.rewrites == []
    assert "query_rewrite" not in looked.stages


async def test_qa_dragon_without_a_photo_takes_no_step_that_looks() -> None:
    result = await dragon(ScriptedSteps(looks=False), question=QUESTION, photo=None)
    assert result.reasoner.names() == ["split_query", "answer", "judge"]
    assert not {"draft", "tool_router", "query_enhancement"} & result.stages
    assert result.run.degraded == []


async def test_qa_dragon_rewrites_a_follow_up_without_a_photo() -> None:
    steps = ScriptedSteps(looks=False, rewritten=REWRITTEN)
    result = await dragon(steps, question=FOLLOW_UP, history=SAID, photo=None)
    assert result.reasoner.names() == ["rewrite", "split_query", "answer", "judge"]


@pytest.mark.parametrize(
    ("question", "named", "queries"),
    [
        ("How long is it?", None, ("How long is it?", "length in metres")),
        ("How long is it?", "Fiat 500", ("Fiat 500 How long is it?", "length in metres", "Fiat 500 size")),
        (
            "How long is a Fiat 500?",
            "Fiat 500",
            ("How long is a Fiat 500?", "length in metres", "Fiat 500 size"),
        ),
    ],
    ids=["unnamed", "named", "named in the question"],
)
def test_the_question_itself_is_always_searched_first(
    question: str, named: str | None, queries: tuple[str, ...]
) -> None:
    draft = lookup_draft(sub_queries=("length in metres", "{entity} size"))
    entity = Entity(named, 0.9) if named else None
    assert fused_queries(Query(question, PHOTO), draft, entity) == queries


def test_a_query_that_repeats_the_question_is_searched_once() -> None:
    draft = lookup_draft(sub_queries=(QUESTION, " ", "Mira Holm"))
    assert fused_queries(Query(QUESTION, None), draft, None) == (QUESTION, "Mira Holm")


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
