"""`three-step`: the draws, the group of most results, the list, the short answer, and what may fail alone."""

from typing import Any

import anyio
import pytest

from chassis.errors import DependencyUnavailable, Overloaded
from contracts.answer import CitationKind, Reason, Route
from contracts.text_search import TextSearchReply, TextSearchRequest
from gateway.llm.prompt import VlmOptions, Window
from gateway.pipelines.three_step import pipeline as three_step
from gateway.planning.plan import FULL, Plan
from gateway.state import Turn
from tests.unit.gateway.fakes import BOOK, PAGES, FakeServices, image_hit, images, pages
from tests.unit.gateway.papers import ask_three_step, numbered, passages, saying
from tests.unit.gateway.pipelines import WHO_WROTE

BROKEN = DependencyUnavailable("The model is away.")
WIDE = VlmOptions(window=Window(60_000))


def searching(**counts: int) -> FakeServices:
    """Services whose text search finds so many passages for each query."""
    return FakeServices(text_search=passages(**counts))


def queries_of(services: FakeServices) -> list[str]:
    """What was searched for, in no order."""
    return sorted(query for call in services.text_search.calls for query in call.queries)


async def test_queries_are_sampled_in_parallel_and_searched_separately() -> None:
    services, every = searching(first=1, second=2, third=1), anyio.Event()
    drawn: list[int] = []

    async def draw(prompt: Any) -> Any:
        drawn.append(prompt.seed)
        if len(drawn) == 3:
            every.set()  # the others still wait
        await every.wait()
        return {"query": ("first", "second", "third")[prompt.seed - 1]}

    result = await ask_three_step({"sample_query": draw}, services)
    assert queries_of(services) == ["first", "second", "third"]
    assert {(len(call.queries), call.k, call.depth) for call in services.text_search.calls} == {(1, 30, 30)}
    draws = [prompt for prompt in result.reasoner.prompts if prompt.name == "sample_query"]
    assert [(draw.seed, draw.temperature) for draw in draws] == [(1, 0.8), (2, 0.8), (3, 0.8)]


@pytest.mark.parametrize(
    ("draws", "searched", "degraded"),
    [
        ({1: {"query": "1. first\n"}, 2: BROKEN, 3: {"query": "First!"}}, "first", []),
        (dict.fromkeys((1, 2, 3), BROKEN), WHO_WROTE, ["query_sampling"]),
    ],
)
async def test_failed_samples_are_skipped_and_the_question_is_the_fallback(
    draws: dict[int, Any], searched: str, degraded: list[str]
) -> None:
    services = searching(first=1)
    result = await ask_three_step({"sample_query": lambda prompt: draws[prompt.seed]}, services)
    assert (queries_of(services), result.run.degraded) == ([searched], degraded)


@pytest.mark.parametrize(
    ("counts", "query"),
    [
        ({"first": 2, "second": 5, "third": 3}, "second"),
        ({"first": 2, "second": 5, "third": 5}, "second"),
        ({"third": 1}, "third"),
        ({"first": 30, "second": 30, "third": 30}, "first"),
    ],
)
async def test_first_group_with_most_results_is_kept(counts: dict[str, int], query: str) -> None:
    result = await ask_three_step(services=searching(**counts), options=WIDE)
    ranked = result.reasoner.pieces("rank_evidence")
    assert {text.rpartition(" ")[2] for text in ranked} == {f"{query}."}
    assert len(ranked) == max(counts.values())
    assert result.notes("text_search")[0].endswith(f"kept: {query}")


@pytest.mark.parametrize(
    ("numbers", "order"),
    [
        ([2, 1], [1, 0]),
        ([2, 2, 2], [1]),
        ([0, 2, 44, 9999], [1]),
        (["2", " 3 "], [1, 2]),
        ([], []),
        (list(range(15, 0, -1)), list(range(14, 4, -1))),
    ],
)
async def test_answer_reads_ten_passages_in_ranked_order(numbers: list[Any], order: list[int]) -> None:
    result = await ask_three_step({"rank_evidence": {"relevant": numbers}}, searching(first=15))
    seen = [item for item in result.explanation.evidence if item.kind is CitationKind.PAGE]
    assert [item.text for item in seen] == [f"Passage {place} of first." for place in order]
    assert [item.score for item in seen] == sorted((item.score for item in seen), reverse=True)
    assert result.run.degraded == []


@pytest.mark.parametrize(
    "reply",
    [
        *({"relevant": numbers} for numbers in ([77, 0, -1], [True], ["two"], [[2]], [2.5], "2, 1", None)),
        *({"numbers": [2]}, "[2, 1]", "Piece 2 is best.", BROKEN),
    ],
)
async def test_unreadable_ranking_keeps_the_search_order(reply: Any) -> None:
    result = await ask_three_step({"rank_evidence": reply}, searching(first=15))
    seen = [item.text for item in result.explanation.evidence if item.kind is CitationKind.PAGE]
    assert seen == [f"Passage {place} of first." for place in range(10)]
    assert result.run.degraded == ["listwise_rerank"]


async def test_failed_search_is_skipped() -> None:

    def reply(request: TextSearchRequest) -> TextSearchReply:
        if "second" in str(request):
            raise Overloaded(retry_after_s=1)
        return passages(first=2, third=1)(request)

    result = await ask_three_step(services=FakeServices(text_search=reply))
    assert len(result.reasoner.pieces("rank_evidence")) == 2
    assert result.run.degraded == []


async def test_the_texts_of_the_ten_nearest_images_are_context() -> None:
    services = searching()
    hits = [image_hit(f"Thing {n}", 0.9 - n / 20, author=f"Author {n}") for n in range(10)]
    services.image_search.reply = images(*hits)
    result = await ask_three_step(services=services)
    assert [count for _, count in services.image_search.calls] == [10]
    texts = [f"The author of Thing {n} is Author {n}." for n in range(10)]
    assert result.reasoner.pieces("answer_briefly") == texts
    assert result.outcome.entity is not None
    assert result.outcome.entity.name == "Thing 0"


async def test_oversized_piece_is_cut_to_the_context() -> None:
    services = searching()
    listed = ", ".join(["a name"] * 2_000)
    hits = [image_hit("Thing 0", 0.9, author="Nobody"), image_hit("Thing 1", 0.8, bearers=listed)]
    services.image_search.reply = images(*hits)
    first, last = (await ask_three_step(services=services, options=WIDE)).reasoner.pieces("answer_briefly")
    assert first == "The author of Thing 0 is Nobody."
    assert last.startswith("The bearers of Thing 1 is a name, a name")
    assert len(first) + len(last) <= three_step.IMAGE_CHARS


async def test_short_answer_is_unchanged_and_has_citations() -> None:
    turns = (Turn("What is this?", f"This is {BOOK}.", False),)
    result = await ask_three_step(
        {"answer_briefly": PAGES, "rank_evidence": {"relevant": [1]}}, history=turns
    )
    for name in ("sample_query", "rank_evidence", "answer_briefly"):
        assert f"You: This is {BOOK}." in result.reasoner.text(name)
    assert result.reasoner.prompts[-1].max_tokens == 75
    assert (result.outcome.answer, result.outcome.reason) == (PAGES, Reason.ANSWERED)
    assert result.outcome.route is Route.RAG
    assert [citation.snippet for citation in result.outcome.citations] == [PAGES]
    assert (await ask_three_step(saying("Perhaps."))).outcome.answer == "Perhaps."


async def test_sampled_queries_read_earlier_questions_only() -> None:
    turns = (Turn("What is this?", f"This is {BOOK}.", False),)
    result = await ask_three_step(history=turns, missing=["earlier-answers"])
    assert "What is this?" in result.reasoner.text("sample_query")
    assert "You:" not in result.reasoner.text("sample_query")
    assert "You:" in result.reasoner.text("rank_evidence")


async def test_smaller_plan_searches_and_writes_less() -> None:
    services = searching(first=30)
    plan = Plan(text_hits=FULL.text_hits // 2, sub_queries=1, answer_tokens=30)
    result = await ask_three_step(services=services, plan=plan)
    assert [(call.queries, call.depth) for call in services.text_search.calls] == [(["first"], 15)]
    assert result.reasoner.prompts[-1].max_tokens == 30


def long_passages(request: TextSearchRequest) -> TextSearchReply:
    """Thirty pages of 300 words under long titles; the pages' number stands in the middle of each."""
    filling = "Of this place there is nothing to say but that it lies by the sea. " * 20
    hits = [
        numbered("first", n).model_copy(
            update={"snippet": f"{filling}It has {n} pages. {filling}", "title": "A long title " * 9}
        )
        for n in range(request.k)
    ]
    return pages(*hits)


async def test_ranked_pieces_have_the_sentence_that_answers() -> None:
    services = FakeServices(text_search=long_passages)
    ranking = {"rank_evidence": {"relevant": [30, 4]}}
    question = "How many pages does this have?"
    result = await ask_three_step(ranking, services, question=question, options=WIDE)
    listed = result.reasoner.pieces("rank_evidence")
    assert len(listed) == 30
    assert all(f"It has {n} pages." in text for n, text in enumerate(listed))
    assert sum(map(len, listed)) <= three_step.LIST_CHARS
    read = result.reasoner.pieces("answer_briefly")[1:]
    assert ["It has 29 pages." in read[0], "It has 3 pages." in read[1]] == [True, True]
    assert sum(map(len, read)) <= three_step.PAGES_CHARS
    assert min(map(len, read)) > 2_000
