"""A stage's time counts as its own, as the model's or the lite reasoner's, or not at all."""

from datetime import UTC, datetime

import anyio
import pytest

from chassis.errors import Overloaded
from chassis.resilience.deadlines import Deadline
from gateway.pipelines.loreglass.pipeline import LoreglassPipeline
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import ONE, VlmSpeed, Work, load_latencies
from gateway.planning.plan import FULL, StageGraph
from gateway.planning.planner import FixedPlan, LivePlan, Planner
from gateway.planning.prefetch import prefetching
from gateway.planning.run import Run
from gateway.planning.stages import STAGE_BUDGETS, Stage, StageBudget
from gateway.state import Query, Recall, Sighting
from gateway.steps.evidence import rank_chunks
from gateway.thresholds import RetrievalLimits
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.pipelines import THRESHOLDS, clients_of
from tests.unit.gateway.planning.stage_graphs import LOREGLASS, QA_DRAGON
from tests.unit.gateway.reasoners import ScriptedReasoner
from tests.unit.gateway.sessions.harness import ManualClock as Clock


class QuietNode:
    """One question, nobody else."""

    in_flight = 1
    busy = False


class Noted(FixedPlan):
    """Keeps how long each stage was said to take."""

    def __init__(self) -> None:
        super().__init__()
        self.ms: dict[Stage, float] = {}

    def observe(self, stage: Stage, work: Work, ms: float, *, by_model: bool) -> None:
        """See `FixedPlan`."""
        self.ms[stage] = ms


def live_plan(stage_graph: StageGraph, clock: Clock, remaining_ms: float) -> tuple[LivePlan, Estimates]:
    """On an L40S with so much time left."""
    estimates = Estimates(load_latencies("l40s", VlmSpeed()), clock)
    plan = LivePlan(Planner(FULL, estimates), stage_graph, QuietNode())
    plan.revise(remaining_ms, (), 0.0)
    return plan, estimates


async def test_waiting_for_another_stage_is_not_counted() -> None:
    clock, noted, wanted = Clock(), Noted(), anyio.Event()
    run = Run("trace", Deadline.after_ms(60_000, clock), planning=noted)

    async def read() -> str:
        async with run.stage(Stage.OCR):
            await wanted.wait()
            clock.now += 5.0
        return "text"

    async with prefetching() as group:
        text = run.prefetch(group, read, "")
        async with run.stage(Stage.DRAFT):
            wanted.set()
            assert await text.result() == "text"
            clock.now += 2.0
    assert noted.ms == pytest.approx({Stage.OCR: 5_000.0, Stage.DRAFT: 2_000.0})


async def test_stage_is_timed_while_its_subtask_waits() -> None:
    clock, noted, read = Clock(), Noted(), anyio.Event()
    run = Run("trace", Deadline.after_ms(60_000, clock), planning=noted)

    async def search() -> str:
        await read.wait()
        return "thing"

    async with prefetching() as group:
        thing = run.prefetch(group, search, "")
        async with run.stage(Stage.DRAFT):
            run.prefetch(group, thing.result, "")
            await anyio.wait_all_tasks_blocked()
            clock.now += 2.0
            read.set()
            await anyio.wait_all_tasks_blocked()
    assert noted.ms == pytest.approx({Stage.DRAFT: 2_000.0})


@pytest.mark.parametrize("now", [True, False])
async def test_prefetch_cancelled_before_its_start_is_not_recorded(now: bool) -> None:
    run = Run("trace", Deadline.after_ms(60_000, Clock()))

    async def search() -> str:
        async with run.stage(Stage.IMAGE_SEARCH):
            return "found"

    async with prefetching() as group:
        hits = run.prefetch(group, search, "", now=now)
        hits.cancel()
        assert await hits.result() == ""
    assert (run.stages, run.degraded) == ([], [])


async def test_error_cancels_the_prefetch_and_is_raised_unchanged() -> None:
    run, stopped = Run("trace", Deadline.after_ms(60_000, Clock())), list[str]()

    async def search() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append("search")

    async def answer() -> None:
        async with prefetching() as group:
            run.prefetch(group, search, None)
            await anyio.wait_all_tasks_blocked()
            raise Overloaded("elsewhere")

    with pytest.raises(Overloaded):
        await answer()
    assert stopped == ["search"]


async def test_memory_question_gets_the_time_of_skipped_searches() -> None:
    clock, now = Clock(), datetime(2026, 11, 27, 8, tzinfo=UTC)
    plan, _ = live_plan(LOREGLASS, clock, 1_000.0)
    assert not plan.plan.model

    async def sightings() -> tuple[Sighting, ...]:
        return (Sighting("1", now, "The Tower", "", "", b""),)

    query = Query("Where did I see the Tower?", None, recall=Recall(now, sightings))
    model, fallback = ScriptedReasoner(), ScriptedReasoner()
    async with clients_of(FakeServices()) as services:
        pipeline = LoreglassPipeline(services, model, THRESHOLDS, RetrievalLimits(), fallback=fallback)
        await pipeline.answer(query, Run("trace", Deadline.after_ms(1_000, clock), planning=plan))
    assert (len(model.contexts), len(fallback.contexts)) == (1, 0)


async def test_step_without_the_model_does_not_change_its_estimates() -> None:
    clock = Clock()
    plan, estimates = live_plan(LOREGLASS, clock, 300.0)
    assert not plan.plan.model
    before = estimates.p50_ms(Stage.QUERY_REWRITE)
    run = Run("trace", Deadline.after_ms(300, clock), planning=plan)
    done = []
    for _ in range(50):
        async with run.optional(Stage.QUERY_REWRITE), run.stage(Stage.QUERY_REWRITE):
            done.append(Stage.QUERY_REWRITE)
    assert len(done) == 50
    assert estimates.p50_ms(Stage.QUERY_REWRITE) == before
    assert run.degraded == ["query_rewrite"]


async def test_empty_ranking_is_not_timed(services: FakeServices) -> None:
    clock = Clock()
    plan, estimates = live_plan(LOREGLASS, clock, 60_000.0)
    run = Run("trace", Deadline.after_ms(60_000, clock), planning=plan)
    before = estimates.p50_ms(Stage.RERANKER, ONE)
    async with clients_of(services) as clients:
        for _ in range(50):
            assert await rank_chunks(clients, "Who?", (), run) == ()
    assert estimates.p50_ms(Stage.RERANKER, ONE) == before


@pytest.mark.parametrize(
    ("stage_graph", "stage", "cut"),
    [
        (LOREGLASS, Stage.TEXT_SEARCH, "fewer_chunks"),
        (LOREGLASS, Stage.CROPPER, "no_crops"),
        (QA_DRAGON, Stage.OBJECT_LIST, "no_crops"),
        (QA_DRAGON, Stage.QUERY_SPLIT, "one_query"),
        (LOREGLASS, Stage.ANSWER, "lite_answer"),
    ],
)
async def test_reduced_or_skipped_stage_is_reported_by_its_cut(
    stage_graph: StageGraph, stage: Stage, cut: str
) -> None:
    plan, _ = live_plan(stage_graph, Clock(), 300.0)
    run = Run("trace", Deadline.after_ms(300, Clock()), planning=plan)
    await run.skip(stage)
    assert cut in run.degraded
    assert stage.value not in run.degraded


async def test_stage_time_sums_its_runs() -> None:
    clock = Clock()
    run = Run("0" * 32, Deadline.after_ms(10_000, clock))

    for _ in range(2):
        async with run.stage(Stage.TEXT_SEARCH):
            clock.now += 0.25
    assert run.timings_ms == {"text_search": 500.0}


@pytest.mark.parametrize(("allowed_ms", "cap_ms"), [(5_000, 3_000), (10_000, 3_000), (40_000, 12_000)])
async def test_a_longer_deadline_gives_each_stage_more_time_in_proportion(
    monkeypatch: pytest.MonkeyPatch, allowed_ms: float, cap_ms: float
) -> None:
    monkeypatch.setitem(STAGE_BUDGETS, Stage.ANSWER, StageBudget(cap=3_000, reserve=60))
    run = Run("trace", Deadline.after_ms(allowed_ms, Clock()))
    async with run.stage(Stage.ANSWER) as deadline:
        assert deadline.remaining_ms() == pytest.approx(cap_ms)


async def deadline_of_the_model(stage: Stage, fallback: str | None, plan: FixedPlan) -> float:
    async def remaining_ms(deadline: Deadline) -> float:
        return deadline.remaining_ms()

    run = Run("trace", Deadline.after_ms(10_000, Clock()), planning=plan)
    return await run.with_fallback(stage, remaining_ms, remaining_ms if fallback else None)


@pytest.mark.parametrize(
    ("stage", "fallback"), [(Stage.ANSWER, Stage.LITE_ANSWER), (Stage.DRAFT, Stage.LITE_DRAFT)]
)
async def test_model_deadline_reserves_time_for_the_fallback(
    monkeypatch: pytest.MonkeyPatch, stage: Stage, fallback: Stage
) -> None:
    monkeypatch.setitem(STAGE_BUDGETS, stage, StageBudget(cap=60_000, reserve=60))
    plan, estimates = live_plan(LOREGLASS, Clock(), 10_000.0)
    for _ in range(50):
        estimates.observe(fallback, ONE, 400.0, 1)
    seen_ms = estimates.p90_ms(fallback)
    assert seen_ms > 350
    assert await deadline_of_the_model(stage, "fallback", plan) == pytest.approx(9_940 - seen_ms)
    assert await deadline_of_the_model(stage, None, plan) == pytest.approx(9_940)
