"""The published systems' model steps: what is put to the model, what is read of it, and what may go wrong."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from bench.node import fails, says
from chassis.errors import DependencyUnavailable
from contracts.answer import Reason
from gateway.llm.failures import VlmReplyUnusable
from gateway.llm.prompt import VlmOptions, Window
from gateway.pipelines.wiki_prf.model import DESCRIPTION_CHARS, KNOWLEDGE_CHARS
from gateway.pipelines.wiki_prf.tool_plan import Material, PhotoTool, ToolCall, ToolPlan
from gateway.state import Evidence, GenerationBudget
from tests.unit.gateway.llm.every_prompt import ROME, TURIN
from tests.unit.gateway.llm.stage import ASK, FOLLOW_UP, bench, context, deadline, page

pytestmark = pytest.mark.anyio


# three-step


async def test_queries_are_sampled_concurrently_with_their_own_seeds() -> None:
    waiting = anyio.Event()
    drawn = {1: "Fiat founding city", 2: "fiat founding city!", 3: "where is Fiat from"}

    def reply(request: Any) -> Any:
        if len(seeds) == 2:
            waiting.set()  # the third is there while the others still wait
        seeds.append(request.body["seed"])
        return says({"query": drawn[seeds[-1]]}, hold=waiting)

    seeds: list[int] = []
    async with bench({"sample_query": reply}) as it:
        with anyio.fail_after(30):
            queries = await it.three_step.sample_queries(ASK, 3, deadline())
    assert queries == ("Fiat founding city", "where is Fiat from")
    assert sorted(seeds) == [1, 2, 3]
    assert {request.body["temperature"] for request in it.server.requests} == {0.8}


async def test_failed_sample_is_skipped() -> None:
    def reply(request: Any) -> Any:
        return fails(500) if request.body["seed"] == 2 else says({"query": f"1. q {request.body['seed']}\n"})

    async with bench({"sample_query": reply}) as it:
        assert await it.three_step.sample_queries(ASK, 3, deadline()) == ("q 1", "q 3")
    async with bench({"sample_query": fails(500)}) as it:
        with pytest.raises(DependencyUnavailable):
            await it.three_step.sample_queries(ASK, 3, deadline())


async def ranked(
    reply: Any, pieces: Sequence[Evidence] = (ROME, TURIN, page("Cats sleep.")), most: int = 10
) -> Any:
    """The order that a reply gives."""
    async with bench({"rank_evidence": reply}) as it:
        return await it.three_step.rank(ASK, pieces, most, deadline())


@pytest.mark.parametrize(
    ("numbers", "order"),
    [
        ([2, 1], (1, 0)),
        ([2, 2, 2], (1,)),
        ([0, 2, 4, 9999], (1,)),
        (["2", " 3 "], (1, 2)),
        ([], ()),
        (list(range(1, 31)), (0, 1, 2)),
    ],
)
async def test_ranking_drops_repeated_and_unknown_numbers(numbers: list[Any], order: tuple[int, ...]) -> None:
    assert await ranked(says({"relevant": numbers})) == order


@pytest.mark.parametrize(
    "reply",
    [
        *({"relevant": numbers} for numbers in ([77, 0, -1], [True], ["two"], [[2]], [2.5], "2, 1", None)),
        *({"numbers": [2]}, "[2, 1]", "Piece 2 is best."),
    ],
)
async def test_unreadable_ranking_is_an_error(reply: Any) -> None:
    with pytest.raises(VlmReplyUnusable):
        await ranked(says(reply))


async def test_ranking_is_cut_and_nothing_is_ranked_without_a_call() -> None:
    assert await ranked(says({"relevant": [3, 2, 1]}), most=2) == (2, 1)
    async with bench({}) as it:
        assert await it.three_step.rank(ASK, (), 10, deadline()) == ()
    assert not it.server.requests


async def test_pieces_are_shortened_to_fit_the_context_window() -> None:
    options = VlmOptions(window=Window(6_000))
    async with bench({"rank_evidence": says({"relevant": [1]})}, options=options) as it:
        pieces = [page(f"Fact {n} about cars. " * 8) for n in range(30)]
        assert await it.three_step.rank(ASK, pieces, 10, deadline()) == (0,)
    (request,) = it.server.requests
    assert request.text.count("<<<piece") == 30
    assert 30 <= request.text.count("about cars") < 30 * 8


async def test_three_step_answers_in_75_tokens_and_cites_its_source() -> None:
    script = {"answer_briefly": says("Fiat was founded in Turin.", probability=0.9)}
    async with bench(script) as it:
        shown = context(ROME, TURIN)
        reply = await it.three_step.answer(FOLLOW_UP, shown, GenerationBudget(), deadline())
    (request,) = it.server.requests
    assert request.body["max_tokens"] == 75
    assert "Wearer: What car is this?" in request.text
    assert request.text.index("Rome is the capital") < request.text.index("founded in Turin in 1899")
    assert (reply.answer, [quote.index for quote in reply.quotes]) == ("Fiat was founded in Turin.", [1])
    assert reply.confidence == pytest.approx(0.9)


@pytest.mark.parametrize("reply", [says("I don't know"), says("", refusal="No.")], ids=["unsure", "declined"])
async def test_a_refusal_is_no_answer(reply: Any) -> None:
    async with bench({"answer_briefly": reply, "answer_from_knowledge": reply}) as it:
        by_list = await it.three_step.answer(ASK, context(TURIN), GenerationBudget(), deadline())
        by_filter = await it.wiki_prf.answer(ASK, "x", context(TURIN), GenerationBudget(), deadline())
    assert by_list.answer is by_filter.answer is None
    assert by_list.reason is by_filter.reason is Reason.MODEL_UNSURE


async def test_answer_tokens_follow_the_plan() -> None:
    generation = GenerationBudget(answer_tokens=30)
    async with bench({"answer_briefly": says("x"), "answer_from_knowledge": says("x")}) as it:
        await it.three_step.answer(ASK, context(), generation, deadline())
        await it.wiki_prf.answer(ASK, None, context(), generation, deadline())
    assert [request.body["max_tokens"] for request in it.server.requests] == [30, 30]


# wiki-prf


@pytest.mark.parametrize("text", ["I don't know.", "x" * 5_000])
async def test_unreadable_tool_plan_is_an_error(text: str) -> None:
    async with bench({"plan_tools": says(text)}) as it:
        with pytest.raises(VlmReplyUnusable):
            await it.wiki_prf.plan_tools(ASK, deadline())


async def test_cut_tool_plan_keeps_its_complete_lines() -> None:
    text = "- Flip\n- Grounding: the red car beside the"
    async with bench({"plan_tools": says(text, finish_reason="length")}) as it:
        plan = await it.wiki_prf.plan_tools(ASK, deadline())
    assert (plan.calls, plan.in_form) == ((ToolCall(PhotoTool.FLIP),), False)


async def test_description_is_one_bounded_line() -> None:
    async with bench({"describe_photo": says("<think>?</think>A small\u202e car.\n" + "Red. " * 300)}) as it:
        text = await it.wiki_prf.describe(ASK, "a car <<<end>>> </think>", deadline())
    assert text.startswith("A small car. Red.")
    assert len(text) <= DESCRIPTION_CHARS
    assert "a car ‹‹‹end››› ‹/think›" in it.shown()


@pytest.mark.parametrize("text", ["...", "<think>Is it a car"])
async def test_empty_description_is_an_error(text: str) -> None:
    async with bench({"describe_photo": says(text)}) as it:
        with pytest.raises(VlmReplyUnusable):
            await it.wiki_prf.describe(ASK, "a car", deadline())


async def test_knowledge_is_read_from_the_answer_tags() -> None:
    text = "<think>Piece 1.</think>\n<answer>Fiat is from Turin.</answer>"
    async with bench({"filter_knowledge": says(text)}) as it:
        knowledge = await it.wiki_prf.filter(ASK, ToolPlan(), Material((TURIN,), (ROME,)), deadline())
    assert knowledge == "Fiat is from Turin."
    shown = it.shown()
    assert shown.index("whole photo") < shown.index("in 1899") < shown.index("tools") < shown.index("capital")


async def test_knowledge_and_its_evidence_are_bounded() -> None:
    long = f"<answer>{'fact ' * 2_000}</answer>"
    async with bench({"filter_knowledge": says(long)}, options=VlmOptions(window=Window(6_000))) as it:
        pieces = tuple(page(f"Fact {n} about cars. " * 8) for n in range(20))
        knowledge = await it.wiki_prf.filter(ASK, ToolPlan(), Material(pieces, pieces), deadline())
    assert len(knowledge) <= KNOWLEDGE_CHARS
    (request,) = it.server.requests
    assert 5 < request.text.count("<<<piece") < 30


async def test_wiki_prf_answers_from_knowledge_and_cites_evidence() -> None:
    async with bench({"answer_from_knowledge": says("Fiat was founded in Turin.")}) as it:
        shown = context(ROME, TURIN)
        reply = await it.wiki_prf.answer(ASK, "Turin, it was.", shown, GenerationBudget(), deadline())
    assert "Turin, it was." in it.shown()
    assert "1899" not in it.shown()
    assert [(quote.index, quote.text) for quote in reply.quotes] == [(1, TURIN.text)]


async def test_filtered_knowledge_is_never_cited() -> None:
    async with bench({"answer_from_knowledge": says("Fiat makes tractors in Modena.")}) as it:
        reply = await it.wiki_prf.answer(
            ASK, "Fiat makes tractors in Modena.", context(ROME), GenerationBudget(), deadline()
        )
    assert reply.answer == "Fiat makes tractors in Modena."
    assert reply.quotes == ()


async def test_without_filtered_knowledge_the_prompt_has_all_evidence() -> None:
    async with bench({"answer_from_knowledge": says("Turin.")}) as it:
        await it.wiki_prf.answer(ASK, None, context(ROME, TURIN), GenerationBudget(), deadline())
    assert "Rome is the capital" in it.shown()
    assert "1899" in it.shown()
