"""`three-step`: the group of most results, the list, the short answer, and what may fail alone."""

import pytest

from chassis.errors import DependencyUnavailable, Overloaded
from contracts.answer import CitationKind, Reason, Route
from contracts.text_search import TextSearchReply, TextSearchRequest
from gateway.llm.delimiting import evidence_blocks
from gateway.pipelines.three_step import pipeline as three_step
from gateway.planning.plan import FULL, Plan
from gateway.state import Reply, Turn
from tests.unit.gateway.fakes import BOOK, PAGES, FakeServices, image_hit, images, pages
from tests.unit.gateway.papers import ScriptedThreeStep, ask_three_step, numbered, passages

pytestmark = pytest.mark.anyio

BROKEN = DependencyUnavailable("The model is away.")


def searching(**counts: int) -> FakeServices:
    """Services whose text search finds so many passages for each query."""
    services = FakeServices()
    services.text_search.reply = passages(**counts)
    return services


def queries_of(services: FakeServices) -> list[str]:
    """What was searched for, in no order."""
    return sorted(query for call in services.text_search.calls for query in call.queries)


async def test_every_query_is_searched_alone_thirty_deep() -> None:
    services = searching(first=1, second=2, third=1)
    await ask_three_step(services=services)
    assert queries_of(services) == ["first", "second", "third"]
    assert {(len(call.queries), call.k, call.depth) for call in services.text_search.calls} == {(1, 30, 30)}


@pytest.mark.parametrize(
    ("counts", "query"),
    [
        ({"first": 2, "second": 5, "third": 3}, "second"),
        ({"first": 2, "second": 5, "third": 5}, "second"),
        ({"third": 1}, "third"),
        ({"first": 30, "second": 30, "third": 30}, "first"),
    ],
)
async def test_the_group_of_most_results_is_kept_and_the_first_among_equals(
    counts: dict[str, int], query: str
) -> None:
    reasoner = ScriptedThreeStep()
    result = await ask_three_step(reasoner, searching(**counts))
    _, ranked, most = reasoner.arguments["rank"]
    assert {item.text.rpartition(" ")[2] for item in ranked} == {f"{query}."}
    assert (len(ranked), most) == (max(counts.values()), 10)
    assert result.notes("text_search")[0].endswith(f"kept: {query}")


async def test_the_list_s_order_is_the_context_s_and_no_more_than_ten() -> None:
    reasoner = ScriptedThreeStep(order=tuple(range(14, -1, -1)), say=lambda _: Reply("It is so.", 0.9))
    await ask_three_step(reasoner, searching(first=15))
    pages = [item for item in reasoner.arguments["answer"].evidence if item.kind is CitationKind.PAGE]
    assert [item.text for item in pages] == [f"Passage {n} of first." for n in range(14, 4, -1)]
    assert [item.score for item in pages] == sorted((item.score for item in pages), reverse=True)


async def test_without_a_list_the_order_of_the_search_stands() -> None:
    empty = ScriptedThreeStep(order=())
    assert (await ask_three_step(empty, searching(first=15))).run.degraded == []
    assert {item.kind for item in empty.arguments["answer"].evidence} == {CitationKind.IMAGE}
    reasoner = ScriptedThreeStep(failing={"rank": BROKEN})
    result = await ask_three_step(reasoner, searching(first=15))
    pages = [item for item in reasoner.arguments["answer"].evidence if item.kind is CitationKind.PAGE]
    assert [item.text for item in pages] == [f"Passage {n} of first." for n in range(10)]
    assert result.run.degraded == ["listwise_rerank"]


async def test_without_queries_the_question_itself_is_searched() -> None:
    services = searching()
    result = await ask_three_step(ScriptedThreeStep(failing={"sample_queries": BROKEN}), services)
    assert queries_of(services) == ["How many pages does this have?"]
    assert result.run.degraded == ["query_sampling"]


async def test_failed_search_is_skipped() -> None:
    services = FakeServices()

    def reply(request: object) -> TextSearchReply:
        if "second" in str(request):
            raise Overloaded(retry_after_s=1)
        return passages(first=2, third=1)(request)  # type: ignore[arg-type]

    services.text_search.reply = reply
    reasoner = ScriptedThreeStep()
    result = await ask_three_step(reasoner, services)
    assert len(reasoner.arguments["rank"][1]) == 2
    assert result.run.degraded == []


async def test_the_texts_of_the_ten_nearest_images_are_context() -> None:
    services = searching()
    hits = [image_hit(f"Thing {n}", 0.9 - n / 20, author=f"Author {n}") for n in range(10)]
    services.image_search.reply = images(*hits)
    reasoner = ScriptedThreeStep()
    result = await ask_three_step(reasoner, services)
    assert [pictures_and_count[1] for pictures_and_count in services.image_search.calls] == [10]
    texts = [item.text for item in reasoner.arguments["answer"].evidence]
    assert texts == [f"The author of Thing {n} is Author {n}." for n in range(10)]
    assert result.outcome.entity is not None
    assert result.outcome.entity.name == "Thing 0"


async def test_oversized_piece_is_cut_to_the_context() -> None:
    services = searching()
    listed = ", ".join(["a name"] * 2_000)
    hits = [image_hit("Thing 0", 0.9, author="Nobody"), image_hit("Thing 1", 0.8, bearers=listed)]
    services.image_search.reply = images(*hits)
    reasoner = ScriptedThreeStep()
    await ask_three_step(reasoner, services)
    first, last = reasoner.arguments["answer"].evidence
    assert first.text == "The author of Thing 0 is Nobody."
    assert last.text.startswith("The bearers of Thing 1 is a name, a name")
    assert len(first.text) + len(last.text) <= three_step.IMAGE_CHARS


async def test_three_step_answer_is_given_with_its_citations() -> None:
    reasoner, turns = ScriptedThreeStep(), (Turn("What is this?", f"This is {BOOK}.", False),)
    result = await ask_three_step(reasoner, history=turns)
    assert reasoner.arguments["sample_queries"][0].history == turns
    await ask_three_step(reasoner, history=turns, missing=["earlier-answers"])
    read = reasoner.arguments["sample_queries"][0].history
    assert [(turn.question, turn.answer) for turn in read] == [(turn.question, "") for turn in turns]
    assert reasoner.arguments["rank"][0].history == turns
    assert not result.services.ocr.calls
    assert not result.services.reranker.calls
    assert (result.outcome.reason, result.outcome.route) == (Reason.ANSWERED, Route.RAG)
    assert [citation.snippet for citation in result.outcome.citations] == [result.outcome.answer]
    assert not result.services.verifier.calls
    unsure = ScriptedThreeStep(say=lambda _: Reply("Perhaps.", 0.05))
    assert (await ask_three_step(unsure)).outcome.answer == "Perhaps."


async def test_without_a_photo_pages_answer() -> None:
    result = await ask_three_step(photo=None)
    assert not result.services.image_search.calls
    assert PAGES in result.outcome.answer


async def test_less_is_searched_when_the_plan_has_less_time() -> None:
    services = searching(first=30)
    plan = Plan(text_hits=FULL.text_hits // 2, sub_queries=1)
    await ask_three_step(services=services, plan=plan)
    assert [(call.queries, call.depth) for call in services.text_search.calls] == [(["first"], 15)]


def long_passages(request: TextSearchRequest) -> TextSearchReply:
    """Thirty pages of 300 words under long titles; the pages' number stands in the last sentence of each."""
    filling = "Of this place there is nothing to say but that it lies by the sea. " * 20
    hits = [
        numbered("first", n).model_copy(
            update={"snippet": f"{filling}It has {n} pages. {filling}", "title": "A long title " * 9}
        )
        for n in range(request.k)
    ]
    return pages(*hits)


async def test_ranked_pieces_have_the_sentence_that_answers() -> None:
    services = FakeServices()
    services.text_search.reply = long_passages
    reasoner = ScriptedThreeStep(order=(29, 3))
    await ask_three_step(reasoner, services)
    _, listed, _ = reasoner.arguments["rank"]
    assert len({item.url for item in listed}) == 30
    assert all(f"It has {n} pages." in item.text for n, item in enumerate(listed))
    blocks = evidence_blocks(listed, 10**6)
    assert blocks.places == tuple(range(30))
    assert len(blocks.text) <= three_step.LIST_CHARS
    pages = [item for item in reasoner.arguments["answer"].evidence if item.kind is CitationKind.PAGE]
    assert [item.url[-3:] for item in pages] == ["/29", "t/3"]
    assert sum(len(item.text) for item in pages) <= three_step.PAGES_CHARS
    assert min(len(item.text) for item in pages) > 2_000
