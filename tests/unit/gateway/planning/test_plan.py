"""The anytime plan: in the documented order, no more than is needed, taken back when there is time again."""

from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.planning.estimates import Estimates
from gateway.planning.latencies import VlmSpeed, Work, load_latencies
from gateway.planning.plan import FULL, LADDER, Cut, Plan, StageGraph, rerank_items
from gateway.planning.planner import Choice, Planner
from gateway.planning.stages import REPLY_RESERVE_MS, STAGE_BUDGETS, Stage
from gateway.state import GenerationBudget
from gateway.thresholds import RetrievalLimits
from tests.unit.gateway.planning.stage_graphs import LOREGLASS, QA_DRAGON, STAGE_GRAPHS

GUIDE = Path(__file__).parents[4] / "docs" / "latency-budget.md"
FP8, BF16 = VlmSpeed(), VlmSpeed(prefill_ms_per_1k=96.0, decode_ms_per_token=28.0)
LITE = load_latencies("lite")
NAMES = [cut.name for cut in LADDER]
TIMES = st.floats(0.0, 20_000.0)
STAGE_GRAPH = st.sampled_from(sorted(STAGE_GRAPHS.values(), key=lambda graph: graph.name))
DONE = st.sets(st.sampled_from(list(STAGE_BUDGETS)))


def planner(speed: VlmSpeed = FP8, full: Plan = FULL) -> Planner:
    return Planner(full, Estimates(load_latencies("l40s", speed), clock=lambda: 0.0))


def names(cuts: Sequence[Cut]) -> list[str]:
    return [cut.name for cut in cuts]


def at_admission(chooser: Planner, ms: float, graph: StageGraph = LOREGLASS, *, busy: bool = False) -> Choice:
    return chooser.choose(ms, (), 1, busy, graph)


def test_the_ladder_is_in_the_documented_order() -> None:
    guide = GUIDE.read_text("utf-8")
    places = [guide.index(f"| `{name}` |") for name in NAMES]
    assert places == sorted(places)


def test_every_cut_only_lowers_the_plan() -> None:
    plan, modest = FULL, Plan(crops=1, evidence_chars=500, answer_tokens=64)
    for cut in LADDER:
        lower = cut.apply(plan)
        assert lower != plan
        assert all(now <= before for now, before in zip(astuple(lower), astuple(plan), strict=True))
        assert cut.apply(lower) == lower
        plan, modest = lower, cut.apply(modest)
    assert (modest.evidence_chars, modest.answer_tokens) == (500, 64)


def test_the_full_plan_follows_depths_and_effort() -> None:
    retrieval = RetrievalLimits(crops=2, text_hits=7, chunks_to_rerank=40, chunks_to_judge=20)
    plan = Plan.full(retrieval, GenerationBudget(answer_tokens=100, evidence_chars=3_000))
    assert (plan.crops, plan.text_hits, plan.chunks, plan.fine_chunks) == (2, 7, 40, 20)
    assert plan.generation == GenerationBudget(answer_tokens=100, evidence_chars=3_000)
    assert Plan.full(RetrievalLimits()) == FULL


@settings(max_examples=40)
@given(STAGE_GRAPH, TIMES, DONE, st.integers(0, 40), st.booleans())
def test_the_plan_cuts_no_more_than_is_needed_and_in_order(
    graph: StageGraph, ms: float, done: set[Stage], load: int, busy: bool
) -> None:
    chooser = planner()
    choice = chooser.choose(ms, done, load, busy, graph)
    assert choice.cuts == LADDER[: len(choice.cuts)]
    assert set(choice.effective) <= set(choice.cuts)
    if busy:
        return
    assert choice.expected_ms <= ms or choice.cuts == LADDER
    assert choice.expected_ms == pytest.approx(chooser.expected_ms(choice.plan, done, load, graph))
    if choice.cuts:
        one_less = FULL
        for cut in choice.cuts[:-1]:
            if not (graph.needs_model and cut.takes_from_model):
                one_less = cut.apply(one_less)
        assert chooser.expected_ms(one_less, done, load, graph) > ms


@settings(max_examples=40)
@given(STAGE_GRAPH, TIMES, TIMES, DONE)
def test_more_time_or_finished_stages_never_shrink_the_plan(
    graph: StageGraph, ms: float, more_ms: float, done: set[Stage]
) -> None:
    chooser = planner()
    less = chooser.choose(ms, done, 1, False, graph).plan
    more = chooser.choose(ms + more_ms, done, 1, False, graph).plan
    assert all(big >= small for big, small in zip(astuple(more), astuple(less), strict=True))
    spared = done - {stage for step in graph.steps for stage in step}
    whole = chooser.expected_ms(FULL, spared, 1, graph)
    assert REPLY_RESERVE_MS <= chooser.expected_ms(FULL, done, 1, graph) <= whole


@pytest.mark.parametrize(
    ("speed", "graph", "deadline_ms", "last"),
    [
        (FP8, LOREGLASS, 3_000, None),
        (FP8, LOREGLASS, 2_000, "lite_draft"),
        (FP8, LOREGLASS, 1_000, "lite_answer"),
        (FP8, LOREGLASS, 300, "lite_answer"),
        (BF16, LOREGLASS, 5_000, None),
        (BF16, LOREGLASS, 3_000, "lite_draft"),
        (BF16, LOREGLASS, 2_000, "lite_steps"),
        (FP8, QA_DRAGON, 10_000, None),
        (FP8, QA_DRAGON, 5_000, "no_crops"),
        (BF16, QA_DRAGON, 10_000, "one_query"),
        (BF16, QA_DRAGON, 5_000, "lite_answer"),
    ],
)
def test_cuts_on_an_l40s_match_the_guide(
    speed: VlmSpeed, graph: StageGraph, deadline_ms: int, last: str | None
) -> None:
    cuts = names(at_admission(planner(speed), deadline_ms, graph).cuts)
    assert (cuts[-1] if cuts else None) == last


def test_a_pipeline_that_needs_a_model_keeps_it() -> None:
    plan = at_admission(planner(), 300, QA_DRAGON).plan
    assert (plan.model, plan.model_draft, plan.model_steps, plan.judge) == (True, True, True, False)


def test_time_for_one_call_of_the_model_goes_to_the_answer() -> None:
    chooser, graph = planner(), LOREGLASS
    plan = at_admission(chooser, chooser.least_ms(1, graph), graph).plan
    stages = {stage for step in graph.ahead(plan) for stage in step}
    by_model = {each for each in stages if chooser.estimates.has_model(each) and graph.asks_model(each, plan)}
    assert by_model == {Stage.ANSWER}


@pytest.mark.parametrize("graph", STAGE_GRAPHS.values(), ids=STAGE_GRAPHS)
def test_lite_profile_needs_no_cuts_at_ten_seconds(graph: StageGraph) -> None:
    choice = Planner(FULL, Estimates(LITE)).choose(10_000, (), 1, False, graph)
    assert choice.cuts == ()
    assert choice.expected_ms < 4_000


def test_cuts_are_undone_when_time_remains() -> None:
    chooser = planner()
    early = at_admission(chooser, 2_300)
    assert "fewer_queries" in names(early.cuts)
    through = [Stage.OCR, Stage.DOMAIN_ROUTER, Stage.DRAFT, Stage.IMAGE_SEARCH, Stage.TEXT_SEARCH]
    later = chooser.choose(2_900, through, 1, False, LOREGLASS)
    assert later.plan == FULL


def test_loaded_node_cuts_more() -> None:
    chooser = planner()
    for _ in range(50):
        chooser.estimates.observe(Stage.ANSWER, Work(), 3_500.0, 8)
        chooser.estimates.observe(Stage.ANSWER, Work(), 950.0, 1)
    idle, loaded = (names(chooser.choose(4_000, (), load, False, LOREGLASS).cuts) for load in (1, 8))
    assert len(idle) < len(loaded)
    assert "lite_draft" in loaded


def test_busy_node_only_skips_speculation() -> None:
    chooser = planner()
    choice = at_admission(chooser, 10_000, busy=True)
    assert not choice.plan.speculate
    assert choice.cuts == ()
    assert choice.plan.judge
    assert at_admission(chooser, 10_000).expected_ms < choice.expected_ms  # speculation costs no time itself


def test_prefetched_search_does_not_hide_the_draft_time() -> None:
    ahead = list(LOREGLASS.ahead(FULL, {Stage.IMAGE_SEARCH}))
    assert Stage.DRAFT in ahead[0]
    done = {Stage.DRAFT, Stage.QUERY_REWRITE, Stage.OCR, Stage.DOMAIN_ROUTER}
    busy = list(LOREGLASS.ahead(Plan(speculate=False), done))
    assert busy[0] == (Stage.IMAGE_SEARCH,)
    later = [stage for step in LOREGLASS.ahead(FULL, {Stage.TEXT_SEARCH}) for stage in step]
    assert later[0] is Stage.RERANKER
    assert Stage.CROP_SEARCH not in later  # passed over


@pytest.mark.parametrize(
    ("plan", "graph", "off"),
    [
        (Plan(crops=0), LOREGLASS, {Stage.CROPPER, Stage.CROP_SEARCH}),
        (Plan(crops=0), QA_DRAGON, {Stage.OBJECT_LIST, Stage.OBJECT_SELECTION, Stage.CROPPER}),
        (Plan(sub_queries=1), QA_DRAGON, {Stage.QUERY_SPLIT}),
        (Plan(rerank=False), LOREGLASS, {Stage.RERANKER}),
        (Plan(judge=False), QA_DRAGON, {Stage.JUDGE}),
    ],
)
def test_stages_that_are_off_cost_nothing(plan: Plan, graph: StageGraph, off: set[Stage]) -> None:
    everything = {stage for step in graph.ahead(FULL) for stage in step}
    assert everything - {stage for step in graph.ahead(plan) for stage in step} == off


def test_cuts_of_finished_stages_are_not_effective() -> None:
    choice = planner().choose(300, {Stage.DRAFT, Stage.TEXT_SEARCH, Stage.RERANKER}, 1, False, LOREGLASS)
    assert choice.cuts
    assert {"fewer_crops", "fewer_queries", "one_query", "lite_draft"}.isdisjoint(names(choice.effective))
    assert "lite_answer" in names(choice.effective)
    without_model = Planner(FULL, Estimates(LITE)).choose(100, (), 1, False, LOREGLASS)
    assert without_model.cuts == LADDER
    assert {"lite_answer", "lite_draft", "shorter_answer"}.isdisjoint(names(without_model.effective))


def test_reranker_gets_at_most_its_models_depth() -> None:
    assert rerank_items(60, 60) == rerank_items(60, 200) == 60
    assert 1 <= rerank_items(60, 0) < rerank_items(60, 30) < 60
    assert rerank_items(0, 0) == 1


def test_stage_starts_if_its_median_time_fits() -> None:
    chooser = planner()
    median = chooser.estimates.p50_ms(Stage.ANSWER)
    assert chooser.fits(Stage.ANSWER, Work(), median, 1)
    assert not chooser.fits(Stage.ANSWER, Work(), median - 1, 1)
    assert chooser.fits(Stage.ANSWER, Work(), 15.0, 1, by_model=False)
