"""`three-step`, `wiki-prf` and `direct-rag` with modules left out: not begun, and the rest goes on."""

import pytest

from chassis.errors import InvalidRequest
from contracts.answer import Experiment, Reason
from contracts.image_search import ImageSearchReply
from gateway.pipelines.baselines import direct_rag
from gateway.pipelines.experiments import varied
from gateway.pipelines.three_step import pipeline as three_step
from gateway.pipelines.three_step.pipeline import ThreeStepPipeline
from gateway.pipelines.wiki_prf import pipeline as wiki_prf
from gateway.pipelines.wiki_prf.tool_plan import PhotoTool, ToolCall, ToolPlan
from tests.unit.gateway.baselines import asked
from tests.unit.gateway.fakes import AUTHOR, BOOK, FakeServices, image_hit
from tests.unit.gateway.papers import (
    QUESTION,
    THRESHOLDS,
    Result,
    ScriptedThreeStep,
    ScriptedWikiPrf,
    ask_three_step,
    ask_wiki_prf,
    passages,
)
from tests.unit.gateway.test_wiki_prf import many, with_crop

pytestmark = pytest.mark.anyio

THREE_STEP = {
    "image-search": {"image_search"},
    "text-search": {"query_sampling", "text_search", "listwise_rerank"},
    "query-rewriting": {"query_sampling"},
    "multi-query": set[str](),
    "reranking": {"listwise_rerank"},
}
WIKI_PRF = {
    "processing": {"tool_plan", "caption", "cropper", "crop_search", "reranker"},
    "filtering": {"knowledge_filter"},
    "captioning": {"caption"},
    "grounding": {"cropper"},
    "flipping": set[str](),
    **{name: set[str]() for name in ("sections-past-1", *wiki_prf.ARTICLES_PAST)},
}


def stages(result: Result) -> set[str]:
    """The stages that ran."""
    return {stage.stage for stage in result.run.stages}


def searching() -> FakeServices:
    """Services that find something by the question and by each draw, most by the second."""
    services = FakeServices()
    services.text_search.reply = passages(first=2, second=12, third=3, **{QUESTION: 2})
    return services


def test_every_module_is_tested() -> None:
    assert set(THREE_STEP) == three_step.MODULES
    assert set(WIKI_PRF) == wiki_prf.MODULES
    assert {"text-search"} == direct_rag.MODULES


@pytest.mark.parametrize("missing", THREE_STEP)
async def test_three_step_does_not_begin_what_is_left_out(missing: str) -> None:
    whole = await ask_three_step(services=searching())
    without = await ask_three_step(services=searching(), missing=[missing])
    assert stages(whole) - stages(without) == THREE_STEP[missing]
    assert stages(without) <= stages(whole)
    assert (whole.run.degraded, without.run.degraded) == ([], [])
    assert without.outcome.reason is Reason.ANSWERED


@pytest.mark.parametrize(
    ("missing", "queries", "evidence"),
    [
        (["image-search"], ["first", "second", "third"], {"Passage 0 of second."}),
        (["text-search"], [], {AUTHOR}),
        (["text-search", "image-search"], [], set()),
        (["query-rewriting"], [QUESTION], {AUTHOR, f"Passage 0 of {QUESTION}."}),
        (["multi-query"], ["first"], {AUTHOR, "Passage 0 of first."}),
    ],
)
async def test_three_step_answers_from_what_is_left(
    missing: list[str], queries: list[str], evidence: set[str]
) -> None:
    reasoner = ScriptedThreeStep()
    result = await ask_three_step(reasoner, searching(), missing=missing)
    assert sorted(query for call in result.services.text_search.calls for query in call.queries) == queries
    assert bool(result.services.image_search.calls) == ("image-search" not in missing)
    assert {item.text for item in reasoner.seen["answer"].evidence} == evidence


async def test_three_step_without_reranking_reads_the_first_ten_results() -> None:
    reasoner = ScriptedThreeStep(order=(5,))
    result = await ask_three_step(reasoner, searching(), missing=["reranking"])
    texts = [item.text for item in reasoner.seen["answer"].evidence if item.text != AUTHOR]
    assert texts == [f"Passage {number} of second." for number in range(10)]
    assert result.services.reranker.calls == []


@pytest.mark.parametrize("missing", WIKI_PRF)
async def test_wiki_prf_does_not_begin_what_is_left_out(missing: str) -> None:
    whole = await ask_wiki_prf(services=with_crop())
    without = await ask_wiki_prf(services=with_crop(), missing=[missing])
    assert stages(whole) - stages(without) == WIKI_PRF[missing]
    assert stages(without) <= stages(whole)
    assert without.outcome.reason is Reason.ANSWERED


async def test_wiki_prf_without_a_module_uses_what_was_retrieved() -> None:
    unprocessed, unfiltered = ScriptedWikiPrf(), ScriptedWikiPrf()
    await ask_wiki_prf(unprocessed, with_crop(), missing=["processing"])
    assert unprocessed.seen["filter"].sections == ()
    assert unprocessed.seen["filter"].document
    assert "plan_tools" not in unprocessed.seen
    await ask_wiki_prf(unfiltered, with_crop(), missing=["filtering"])
    knowledge, context = unfiltered.seen["answer"]
    assert knowledge is None
    assert context.evidence


@pytest.mark.parametrize(
    ("missing", "used"),
    [
        (["captioning"], {"grounding", "flip"}),
        (["grounding", "flipping"], {"caption"}),
        (["captioning", "flipping"], {"grounding"}),
    ],
)
async def test_wiki_prf_makes_no_call_of_a_tool_that_is_left_out(missing: list[str], used: set[str]) -> None:
    result = await ask_wiki_prf(services=with_crop(), missing=missing)
    ranked = {note.partition(":")[0] for note in result.notes("reranker")}
    assert ranked == used


@pytest.mark.parametrize(
    ("missing", "articles", "sections"),
    [
        ([], 5, 3),
        (["articles-past-3"], 3, 3),
        (["articles-past-3", "articles-past-1"], 1, 1),  # one passage, one section
        (["articles-past-3", "sections-past-1"], 3, 1),
    ],
)
async def test_wiki_prf_retrieves_and_keeps_as_many_as_are_left(
    missing: list[str], articles: int, sections: int
) -> None:
    services = with_crop()
    services.text_search.reply = many
    things = [image_hit(f"{BOOK} {number}", 0.9 - number / 100) for number in range(9)]
    services.image_search.reply = lambda form: ImageSearchReply(hits=things, collection="images")
    caption = ScriptedWikiPrf(plan=ToolPlan((ToolCall(PhotoTool.CAPTION, "a blue book"),)))
    await ask_wiki_prf(caption, services, missing=missing)
    assert services.text_search.calls[-1].k == articles
    assert len(caption.seen["filter"].sections) == sections
    flipped = ScriptedWikiPrf(plan=ToolPlan((ToolCall(PhotoTool.FLIP),)))
    await ask_wiki_prf(flipped, services, missing=missing)
    assert services.image_search.calls[-1][1] == articles


async def test_direct_rag_with_one_source_searches_no_pages() -> None:
    result = await asked("direct-rag", missing=("text-search",))
    assert set((await asked("direct-rag")).stages) - set(result.stages) == {"text_search"}
    assert result.services.text_search.calls == []
    assert {item.text for item in result.reader.given("answer_from")[1].evidence} == {AUTHOR}


def test_a_module_that_a_system_does_not_have_is_refused_with_those_that_it_has() -> None:
    pipeline = ThreeStepPipeline(None, ScriptedThreeStep(), THRESHOLDS)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match=r"'ocr'.*multi-query"):
        varied(pipeline, Experiment(without=["ocr"]))
