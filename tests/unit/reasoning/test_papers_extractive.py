"""The published systems' steps without a model: by rule, verbatim, and in the time that there is."""

import anyio
import pytest

from chassis.deadlines import Deadline
from contracts.answer import CitationKind, Route
from gateway.reasoning.extractive.three_step import ThreeStepExtractiveReasoner
from gateway.reasoning.extractive.wiki_prf import MOST_SENTENCES, WikiPrfExtractiveReasoner
from gateway.reasoning.sighting import Sighting
from gateway.reasoning.wiki_prf import Gathered, PhotoTool, ToolCall
from gateway.state import Ask, Effort, Entity, Evidence, Findings, Photo, PhotoText, TextLine

pytestmark = pytest.mark.anyio

ASK = Ask("How many pages does this book have?", Photo(b"jpeg", 96, 64, "digest"))
BOOK = Entity("The Salt Road", 0.97, (("author", "Mira Holm"),))
PRINT = PhotoText((TextLine("THE SALT ROAD", 0.99, (0.1, 0.1, 0.9, 0.3)),))


def page(text: str) -> Evidence:
    """A chunk of a page about the book."""
    return Evidence(text, "The Salt Road", "https://pages.example/1", CitationKind.PAGE, 0.8)


PAGES = page("The Salt Road has 312 pages. Reviewers liked it. It was sold at fairs.")


async def printed() -> PhotoText:
    """What OCR read."""
    return PRINT


async def found() -> tuple[Entity, ...]:
    """What image search found."""
    return (BOOK,)


async def hangs() -> tuple[Entity, ...]:
    """A search that never ends."""
    await anyio.sleep_forever()
    raise AssertionError("unreachable")


def minute() -> Deadline:
    """Time enough."""
    return Deadline.after_ms(60_000)


async def test_wordings_are_always_the_same_and_end_with_the_question() -> None:
    reasoner, sighting = ThreeStepExtractiveReasoner(), Sighting(ASK, printed, found)
    drawn = [await reasoner.sample_queries(sighting, 3, minute()) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert drawn[0][0] == f"The Salt Road {ASK.question}"
    assert ASK.question in drawn[0]
    assert all("{entity}" not in query for query in drawn[0])


async def test_without_a_name_no_query_has_a_hole() -> None:
    async def nothing() -> tuple[Entity, ...]:
        return ()

    async def blank() -> PhotoText:
        return PhotoText()

    queries = await ThreeStepExtractiveReasoner().sample_queries(Sighting(ASK, blank, nothing), 3, minute())
    assert queries == (ASK.question,)


async def test_services_that_hang_cost_a_share_of_the_time_and_not_the_answer() -> None:
    findings = Findings(Route.RAG, None, PhotoText(), (PAGES,))
    with anyio.fail_after(30):
        reply = await ThreeStepExtractiveReasoner().answer(
            Sighting(ASK, printed, hangs), findings, Effort(), Deadline.after_ms(1_500)
        )
    assert reply.reason is not None


async def test_a_plan_captions_the_print_and_grounds_the_kind() -> None:
    plan = await WikiPrfExtractiveReasoner().plan_tools(Sighting(ASK, printed, found), minute())
    assert plan.calls == (
        ToolCall(PhotoTool.GROUNDING, "book"),
        ToolCall(PhotoTool.CAPTION, "THE SALT ROAD"),
    )


async def test_knowledge_is_the_likeliest_sentences_verbatim_and_in_order() -> None:
    filler = page(" ".join(f"Number {n} is no matter." for n in range(40)))
    knowledge = await WikiPrfExtractiveReasoner().filter(ASK, Gathered((filler,), (PAGES,)), minute())
    lines = knowledge.splitlines()
    assert len(lines) == MOST_SENTENCES
    assert "The Salt Road has 312 pages." in lines
    assert all(line in f"{filler.text} {PAGES.text}" for line in lines)


async def test_the_answer_quotes_only_sentences_of_the_knowledge() -> None:
    findings = Findings(Route.RAG, BOOK, PhotoText(), (PAGES,))
    sighting, reasoner = Sighting(ASK, printed, found), WikiPrfExtractiveReasoner()
    known = await reasoner.answer(sighting, "The Salt Road has 312 pages.", findings, Effort(), minute())
    assert known.answer is not None
    assert "312" in known.answer
    assert [(quote.index, quote.text) for quote in known.quotes] == [(0, "The Salt Road has 312 pages.")]
    unknown = await reasoner.answer(sighting, "Reviewers liked it.", findings, Effort(), minute())
    assert unknown.answer is None


@pytest.mark.parametrize("knowledge", [None, "It has three hundred and twelve pages, says a model."])
async def test_knowledge_that_a_model_wrote_anew_leaves_all_of_the_evidence(knowledge: str | None) -> None:
    findings = Findings(Route.RAG, BOOK, PhotoText(), (PAGES,))
    reply = await WikiPrfExtractiveReasoner().answer(
        Sighting(ASK, printed, found), knowledge, findings, Effort(), minute()
    )
    assert reply.answer is not None
    assert "312" in reply.answer
