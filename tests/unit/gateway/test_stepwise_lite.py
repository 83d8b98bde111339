"""QA-Dragon's steps in the lite profile, where no model is asked."""

import pytest

from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Reason, Route
from gateway.pipelines.qa_dragon.lite import LiteSteps
from gateway.pipelines.qa_dragon.port import StepwiseReasoner
from gateway.state import Context, Entity, Evidence, GenerationBudget, PhotoText, Query, TextLine, Tool, Turn
from tests.unit.gateway.reasoners import lookup_draft
from tests.unit.gateway.stepwise import PHOTO
from tests.unit.reasoning.lite.desk import WordReader

pytestmark = pytest.mark.anyio

SOON = Deadline.after_ms(60_000)
BOOK = Entity("The Salt Road", 0.9, (("author", "Mira Holm"),))
COVER = PhotoText((TextLine("THE SALT ROAD", 0.98, (0.2, 0.3, 0.8, 0.45)),))


@pytest.fixture
def steps() -> StepwiseReasoner:
    return LiteSteps(WordReader())


async def cover() -> PhotoText:
    return COVER


async def test_the_conversation_names_the_thing(steps: StepwiseReasoner) -> None:
    ask = Query("Who wrote it?", PHOTO, False, (Turn("What is this book?", "The Salt Road.", False, BOOK),))
    draft = await steps.chain_of_thought(ask, None, cover, SOON)
    assert draft.entity == BOOK.name


async def test_the_tools_are_those_of_the_draft(steps: StepwiseReasoner) -> None:
    ask = Query("Who wrote this?", PHOTO)
    tools = frozenset({Tool.TEXT_SEARCH})
    assert await steps.choose_tools(ask, lookup_draft(tools=tools), SOON) == tools


async def test_the_object_is_the_label_that_stands_in_the_question(steps: StepwiseReasoner) -> None:
    ask = Query("Who painted this painting?", PHOTO)
    assert await steps.list_objects(ask, SOON) == ()
    assert await steps.select_object(ask, ["frame", "painting"], SOON) == "painting"
    assert await steps.select_object(ask, ["frame", "wall"], SOON) == "frame"
    assert await steps.select_object(ask, [], SOON) is None


async def test_a_candidate_must_agree_with_the_print(steps: StepwiseReasoner) -> None:
    ask, draft = Query("Who wrote this book?", PHOTO), lookup_draft()
    assert await steps.match_entity(ask, draft, [BOOK], COVER, SOON) == BOOK
    other = Entity("Gardens of Iron", 0.7)
    matched = await steps.match_entity(ask, draft, [other], COVER, SOON)
    assert matched is None or matched.name != other.name


async def test_queries_are_split_as_drafted_and_carry_the_name(steps: StepwiseReasoner) -> None:
    ask, draft = Query("Who wrote this?", PHOTO), lookup_draft(sub_queries=("{entity} author",))
    parts = await steps.split_query(ask, draft, SOON)
    assert await steps.enhance_queries(ask, parts, BOOK, SOON) == ("The Salt Road author",)
    assert await steps.enhance_queries(ask, ["who wrote this?"], BOOK, SOON) == (
        "The Salt Road who wrote this?",
    )
    assert await steps.enhance_queries(ask, ["Mira Holm"], BOOK, SOON) == ("The Salt Road Mira Holm",)
    assert await steps.enhance_queries(ask, parts, None, SOON) == tuple(parts)


async def test_the_answer_quotes_a_paragraph_of_attributes(steps: StepwiseReasoner) -> None:
    """The paper joins the attributes' sentences; each is still found and quoted for itself."""
    block = "The author of The Salt Road is Mira Holm. The publisher of The Salt Road is Harrow & Lane."
    evidence = (Evidence(block, BOOK.name, "", CitationKind.IMAGE, 0.9, BOOK.name),)
    context = Context(Route.RAG, BOOK, PhotoText(), evidence)
    ask = Query("Who is the publisher of this book?", PHOTO)
    reply = await steps.answer(ask, lookup_draft(), context, GenerationBudget(), SOON)
    assert "Harrow & Lane" in (reply.answer or "")
    assert reply.reason is Reason.ANSWERED
    assert [quote.text in block for quote in reply.quotes] == [True]
    assert (
        await steps.judge(ask, reply, context, GenerationBudget(), SOON) is None
    )  # there is no other passage
