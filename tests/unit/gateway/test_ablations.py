"""Every system with modules left out: they are not begun, nothing is degraded, and the rest goes on."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from contracts.answer import Reason, Route
from contracts.verifier import VerifyReply
from gateway.pipelines.baselines import pipeline as baselines
from gateway.pipelines.loreglass import pipeline as default
from gateway.pipelines.qa_dragon import pipeline as qa_dragon
from gateway.pipelines.three_step import pipeline as three_step
from gateway.pipelines.wiki_prf import pipeline as wiki_prf
from tests.unit.gateway.fakes import AUTHOR, BOOK, FakeServices, image_hit, images, pages, regions, text_hit
from tests.unit.gateway.papers import ask_paper, ask_three_step, ask_wiki_prf, dragon, passages
from tests.unit.gateway.pipelines import WHO_WROTE, Result, loreglass
from tests.unit.gateway.reasoners import ScriptedReasoner, after_reading, direct_draft
from tests.unit.gateway.test_qa_dragon import READ, tools
from tests.unit.gateway.test_wiki_prf import CAPTION, GROUND, filter_pieces, many, with_crop


def busy_services() -> FakeServices:
    """Services for which every module of the default pipeline has something to do."""
    services = FakeServices(
        image_search=images(image_hit(score=0.7)),
        cropper=regions(b"crop"),
        text_search=pages(text_hit("First."), text_hit()),
        verifier=VerifyReply(supported=True, probability=0.65, checks=[]),
    )
    return services


def searching() -> FakeServices:
    """Services that find something by the question and by each draw, most by the second."""
    return FakeServices(text_search=passages(first=2, second=12, third=3, **{WHO_WROTE: 2}))


async def ask_loreglass(**more: Any) -> Result:
    return await loreglass(ScriptedReasoner(before_draft=after_reading), busy_services(), **more)


Ask = Callable[..., Awaitable[Result]]
TOOLS = {"tool_plan", "caption", "cropper", "crop_search", "reranker"}
SYSTEMS: dict[str, tuple[Ask, frozenset[str], dict[str, set[str]]]] = {
    "loreglass": (
        ask_loreglass,
        default.MODULES,
        {
            "crops": {"cropper", "crop_search"},
            "image-search": {"image_search", "cropper", "crop_search"},
            "ocr": {"ocr"},
            "reranking": {"reranker"},
            "verifier": {"verifier"},
            "text-search": {"text_search"},
        },
    ),
    "qa-dragon": (
        dragon,
        qa_dragon.MODULES,
        {
            "domain-router": {"domain_router"},
            "tool-router": {"tool_router"},
            "query-splitting": {"query_split"},
            "reranking": {"reranker"},
            "text-search": {"query_split", "query_enhancement", "text_search"},
            "verifier": {"judge", "verifier"},
        },
    ),
    "three-step": (
        lambda **more: ask_three_step(services=searching(), **more),
        three_step.MODULES,
        {
            "image-search": {"image_search"},
            "text-search": {"query_sampling", "text_search", "listwise_rerank"},
            "query-rewriting": {"query_sampling"},
            "reranking": {"listwise_rerank"},
        },
    ),
    "wiki-prf": (
        lambda **more: ask_wiki_prf(services=with_crop(), **more),
        wiki_prf.MODULES,
        {
            "retrieval": TOOLS | {"image_search", "text_search", "knowledge_filter"},
            "processing": TOOLS,
            "filtering": {"knowledge_filter"},
            "captioning": {"caption"},
            "grounding": {"cropper", "crop_search"},
        },
    ),
    "direct-rag": (partial(ask_paper, "direct-rag"), baselines.MODULES, {"text-search": {"text_search"}}),
}
"""How each system is asked, its modules, and the stages that only a module begins."""


@pytest.mark.parametrize(
    ("system", "module"),
    [(name, module) for name, (_, modules, _) in SYSTEMS.items() for module in sorted(modules)],
)
async def test_left_out_module_is_not_started_and_not_degraded(system: str, module: str) -> None:
    ask, _, stages = SYSTEMS[system]
    whole, rest = await ask(), await ask(missing=[module])
    assert set(whole.stages) - set(rest.stages) == stages.get(module, set())
    assert set(rest.stages) <= set(whole.stages)
    assert (whole.run.degraded, rest.run.degraded) == ([], [])
    assert rest.outcome.reason is Reason.ANSWERED


# loreglass


@pytest.mark.parametrize("ask", [ask_loreglass, dragon])
async def test_entity_is_evidence_but_not_in_queries_without_fusion(ask: Ask) -> None:
    result = await ask(missing=["fusion-search"])
    assert BOOK not in " ".join(result.services.text_search.calls[0].queries)
    assert result.outcome.entity is not None
    assert result.services.reranker.calls[0].documents[0].endswith(AUTHOR)


@pytest.mark.parametrize(
    ("ask", "look"),
    [
        (loreglass, ScriptedReasoner(direct_draft(), before_draft=after_reading)),
        (dragon, READ),
    ],
)
async def test_without_the_search_router_everything_is_searched(ask: Ask, look: Any) -> None:
    question = "What does it say?"
    whole, rest = [await ask(look, question=question, missing=each) for each in ([], ["search-router"])]
    assert (whole.outcome.route, rest.outcome.route) == (Route.DIRECT, Route.RAG)


# qa-dragon


async def test_without_the_tool_router_both_searches_run() -> None:
    routed = await dragon(tools())
    result = await dragon(tools(), missing=["tool-router"])
    assert not {"image_search", "text_search"} & set(routed.stages)
    assert {"image_search", "text_search"} <= set(result.stages)
    assert "choose_tools" not in result.reasoner.names()


async def test_without_query_splitting_the_question_is_the_only_query() -> None:
    result = await dragon(missing=["query-splitting"])
    assert f"<<<searches>>>\n1. {WHO_WROTE}\n<<<end>>>" in result.reasoner.text("enhance_queries")


async def test_without_a_brief_verdict_the_judge_gives_its_reason() -> None:
    result = await dragon(missing=["brief-verdict"])
    assert result.reasoner.names()[-1] == "judge_with_reason"
    assert result.outcome.reason is Reason.ANSWERED


async def test_unsupported_answer_is_given_without_the_verifier() -> None:
    services = FakeServices(verifier=VerifyReply(supported=False, probability=0.01, checks=[]))
    assert (await dragon(services=services)).outcome.abstained
    assert not (await dragon(services=services, missing=["verifier"])).outcome.abstained
    assert (await dragon({"answer_with_reasons": "I don't know."}, missing=["verifier"])).outcome.abstained


# three-step, wiki-prf


@pytest.mark.parametrize(
    ("missing", "queries", "evidence"),
    [
        (["image-search"], ["first", "second", "third"], {"Passage 0 of second."}),
        (["text-search"], [], {AUTHOR}),
        (["text-search", "image-search"], [], set()),
        (["query-rewriting"], [WHO_WROTE], {AUTHOR, f"Passage 0 of {WHO_WROTE}."}),
        (["multi-query"], ["first"], {AUTHOR, "Passage 0 of first."}),
        (
            ["reranking"],
            ["first", "second", "third"],
            {AUTHOR, *(f"Passage {n} of second." for n in range(10))},
        ),
    ],
)
async def test_three_step_answers_from_the_other_searches(
    missing: list[str], queries: list[str], evidence: set[str]
) -> None:
    result = await ask_three_step(services=searching(), missing=missing)
    assert sorted(query for call in result.services.text_search.calls for query in call.queries) == queries
    assert bool(result.services.image_search.calls) == ("image-search" not in missing)
    assert set(result.reasoner.pieces("answer_briefly")) == evidence
    assert result.services.reranker.calls == []


async def test_wiki_prf_without_a_module_uses_retrieved_text() -> None:
    document, sections = filter_pieces(await ask_wiki_prf(services=with_crop(), missing=["processing"]))
    assert (bool(document), sections) == (True, [])
    unfiltered = await ask_wiki_prf(services=with_crop(), missing=["filtering"])
    assert unfiltered.reasoner.pieces("answer_from_knowledge")
    short = await ask_wiki_prf(services=with_crop(), missing=["refusals"])
    assert short.outcome.answer == "312"


@pytest.mark.parametrize(
    ("missing", "articles", "sections"),
    [
        ([], 5, 3),
        (["articles-past-3"], 3, 3),
        (["articles-past-3", "articles-past-1"], 1, 1),  # one passage, one section
        (["articles-past-3", "sections-past-1"], 3, 1),
    ],
)
async def test_wiki_prf_retrieves_and_keeps_fewer(missing: list[str], articles: int, sections: int) -> None:
    services = with_crop()
    services.text_search.reply = many
    hits = [image_hit(f"{BOOK} {number}", 0.9 - number / 100) for number in range(9)]
    services.image_search.reply = images(*hits)
    result = await ask_wiki_prf(CAPTION, services, missing=missing)
    assert services.text_search.calls[-1].k == articles
    assert len(filter_pieces(result)[1]) == sections
    await ask_wiki_prf(GROUND, services, missing=missing)
    assert services.image_search.calls[-1][1] == articles
