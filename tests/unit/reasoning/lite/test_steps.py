"""The published systems' steps without a model: by rule, verbatim, and in the time that there is."""

import anyio
import pytest

from chassis.resilience.deadlines import Deadline
from contracts.answer import Route
from gateway.pipelines.baselines.lite import LiteBaselines
from gateway.pipelines.baselines.port import Retrieved
from gateway.pipelines.three_step.lite import LiteThreeStep
from gateway.pipelines.wiki_prf.lite import MOST_SENTENCES, LiteWikiPrf
from gateway.pipelines.wiki_prf.port import Gathered, PhotoTool, ToolCall, ToolPlan
from gateway.reasoning.photo_context import PhotoContext
from gateway.state import Context, Entity, GenerationBudget, PhotoText
from tests.unit.reasoning.lite.desk import WordReader, ask, known, minute, page, sign, thing

pytestmark = pytest.mark.anyio

ASK = ask("How many pages does this book have?")
BOOK = thing("The Glass Harbour", 0.97, author="Ines Valdern")
PAGES = page(
    "The Glass Harbour has 288 pages. Reviewers liked it. It was sold at fairs.", "The Glass Harbour"
)


async def printed() -> PhotoText:
    return sign("THE GLASS HARBOUR")


async def found() -> tuple[Entity, ...]:
    return (BOOK,)


async def hangs() -> tuple[Entity, ...]:
    await anyio.sleep_forever()
    raise AssertionError("unreachable")


SEEN = PhotoContext(ASK, printed, found)


async def test_wordings_are_always_the_same_and_the_question_is_among_them() -> None:
    reasoner = LiteThreeStep(WordReader())
    drawn = [await reasoner.sample_queries(SEEN, 4, minute()) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert drawn[0][0] == "The Glass Harbour How many pages does this book have?"
    assert ASK.question in drawn[0]
    assert all("{entity}" not in query for query in drawn[0])


async def test_without_a_name_no_query_has_a_hole() -> None:
    async def nothing() -> tuple[Entity, ...]:
        return ()

    async def blank() -> PhotoText:
        return PhotoText()

    unseen = PhotoContext(ASK, blank, nothing)
    assert await LiteThreeStep(WordReader()).sample_queries(unseen, 3, minute()) == (ASK.question,)


async def test_services_that_hang_cost_a_share_of_the_time_and_not_the_answer() -> None:
    context = Context(Route.RAG, None, PhotoText(), (PAGES,))
    with anyio.fail_after(30):
        reply = await LiteThreeStep(WordReader()).answer(
            PhotoContext(ask("How many pages?"), printed, hangs),
            context,
            GenerationBudget(),
            Deadline.after_ms(1_500),
        )
    assert "288" in (reply.answer or "")


async def test_a_plan_captions_the_print() -> None:
    plan = await LiteWikiPrf(WordReader()).plan_tools(SEEN, minute())
    assert plan.calls == (ToolCall(PhotoTool.CAPTION, "THE GLASS HARBOUR"),)


async def test_knowledge_is_the_likeliest_sentences_verbatim_and_in_order() -> None:
    filler = page(" ".join(f"Number {n} is no matter." for n in range(40)))
    knowledge = await LiteWikiPrf(WordReader()).filter(
        ASK, ToolPlan(), Gathered((filler,), (PAGES,)), minute()
    )
    lines = knowledge.splitlines()
    assert len(lines) == MOST_SENTENCES
    assert "The Glass Harbour has 288 pages." in lines
    assert all(line in f"{filler.text} {PAGES.text}" for line in lines)


async def test_the_answer_quotes_only_sentences_of_the_knowledge() -> None:
    context, reasoner = Context(Route.RAG, BOOK, PhotoText(), (PAGES,)), LiteWikiPrf(WordReader())
    said = "The Glass Harbour has 288 pages."
    reply = await reasoner.answer(SEEN, said, context, GenerationBudget(), minute())
    assert "288" in (reply.answer or "")
    assert [(quote.index, quote.text) for quote in reply.quotes] == [(0, said)]
    assert (
        await reasoner.answer(SEEN, "Reviewers liked it.", context, GenerationBudget(), minute())
    ).answer is None


@pytest.mark.parametrize("knowledge", [None, "It has two hundred and eighty-eight pages, says a model."])
async def test_knowledge_that_a_model_wrote_anew_leaves_all_of_the_evidence(knowledge: str | None) -> None:
    context = Context(Route.RAG, BOOK, PhotoText(), (PAGES,))
    reply = await LiteWikiPrf(WordReader()).answer(SEEN, knowledge, context, GenerationBudget(), minute())
    assert "288" in (reply.answer or "")


async def test_a_baseline_searches_by_the_thing_s_name_and_answers_from_its_records() -> None:
    reasoner, retrieved = LiteBaselines(WordReader()), Retrieved((BOOK,), known(BOOK), (PAGES,))
    query = await reasoner.rewrite_query(ASK, retrieved, printed, minute())
    assert query == "The Glass Harbour How many pages does this book have?"
    author = ask("Who is the author of this book?")
    reply = await reasoner.answer_from(author, retrieved, printed, GenerationBudget(), minute())
    assert (reply.answer, reply.quotes[0].index) == ("The author of The Glass Harbour is Ines Valdern.", 0)


async def test_a_baseline_may_quote_the_print_as_the_last_piece() -> None:
    reasoner = LiteBaselines(WordReader())
    reply = await reasoner.answer_from(
        ask("What is this?"), Retrieved(), printed, GenerationBudget(), minute()
    )
    assert (reply.answer, [quote.index for quote in reply.quotes]) == ("The Glass Harbour.", [0])
    alone = await reasoner.answer_alone(ask("What is this?"), printed, minute())
    assert alone.answer == "The Glass Harbour."


async def test_what_is_rather_wrong_than_right_is_not_said_where_no_threshold_would_stop_it() -> None:
    reasoner, doubtful = LiteBaselines(WordReader()), page("Reviewers counted 12 pages of thanks.")
    question = ask("How many pages did the second printing of the translation have?")
    retrieved = Retrieved((), (), (doubtful,))
    assert (
        await reasoner.answer_from(question, retrieved, printed, GenerationBudget(), minute())
    ).answer is None
