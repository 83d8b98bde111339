"""What a stage's time is counted as: its own, the model's or the pocket reasoner's, or nothing at all."""

import anyio
import pytest

from chassis.deadlines import Deadline
from gateway.budget.course import LOREGLASS, QA_DRAGON, Course
from gateway.budget.estimates import Estimates
from gateway.budget.latencies import ONE, VlmSpeed, Work, load_latencies
from gateway.budget.plan import FULL
from gateway.budget.planner import Planner
from gateway.budget.stages import Stage
from gateway.stages.evidence import Inquiry, rank_chunks
from gateway.stages.planning import FixedPlan, LivePlan
from gateway.stages.run import Run, side_by_side
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.stepwise import clients_of

pytestmark = pytest.mark.anyio


class Clock:
    """Moves when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


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


def live_plan(course: Course, clock: Clock, remaining_ms: float) -> tuple[LivePlan, Estimates]:
    """On an L40S with so much time left."""
    estimates = Estimates(load_latencies("l40s", VlmSpeed()), clock)
    plan = LivePlan(Planner(FULL, estimates), course, QuietNode())
    plan.revise(remaining_ms, (), 0.0)
    return plan, estimates


async def test_a_stage_is_not_charged_for_waiting_for_another_one() -> None:
    clock, noted, wanted = Clock(), Noted(), anyio.Event()
    run = Run("trace", Deadline(60.0, clock), planning=noted)

    async def read(_: Deadline) -> str:
        await wanted.wait()
        clock.now += 5.0
        return "text"

    async with side_by_side() as group:
        text = run.ahead(group, Stage.OCR, read, otherwise="")

        async def draft(_: Deadline) -> str:
            wanted.set()
            found = await text.result()
            clock.now += 2.0
            return found

        assert await run.required(Stage.DRAFT, draft) == "text"
    assert noted.ms == pytest.approx({Stage.OCR: 5_000.0, Stage.DRAFT: 2_000.0})


async def test_what_is_given_up_before_it_began_is_no_stage_at_all() -> None:
    run = Run("trace", Deadline(0.0, Clock()))

    async def search(_: Deadline) -> str:
        return "found"

    async with side_by_side() as group:
        found = run.ahead(group, Stage.IMAGE_SEARCH, search, otherwise="", now=False)
        found.cancel()
        assert await found.result() == ""
    assert (run.stages, run.degraded) == ([], [])


async def test_a_step_without_the_model_is_neither_timed_nor_refused_as_the_models() -> None:
    clock = Clock()
    plan, estimates = live_plan(QA_DRAGON, clock, 300.0)
    assert not plan.plan.model
    before = estimates.p50_ms(Stage.TOOL_ROUTER)
    run = Run("trace", Deadline(0.3, clock), planning=plan)
    done = []

    async def choose(_: Deadline) -> None:
        done.append(Stage.TOOL_ROUTER)

    for _ in range(50):
        await run.optional(Stage.TOOL_ROUTER, choose, otherwise=None)
    assert len(done) == 50
    assert estimates.p50_ms(Stage.TOOL_ROUTER) == before
    assert run.degraded == ["tool_router"]


async def test_a_judge_that_goes_with_the_last_resort_is_not_timed_as_the_model() -> None:
    clock = Clock()
    plan, estimates = live_plan(LOREGLASS, clock, 60_000.0)
    before = estimates.p50_ms(Stage.JUDGE)
    run = Run("trace", Deadline(60.0, clock), planning=plan)

    async def work(_: Deadline) -> None:
        """Takes no time."""

    await run.required(Stage.POCKET_ANSWER, work)
    for _ in range(50):
        await run.required(Stage.JUDGE, work)
    assert estimates.p50_ms(Stage.JUDGE) == before


async def test_ranking_nothing_says_nothing_of_how_long_ranking_takes(services: FakeServices) -> None:
    clock = Clock()
    plan, estimates = live_plan(LOREGLASS, clock, 60_000.0)
    run = Run("trace", Deadline(60.0, clock), planning=plan)
    before = estimates.p50_ms(Stage.RERANKER, ONE)
    async with clients_of(services) as clients:
        for _ in range(50):
            assert await rank_chunks(clients, Inquiry("Who?", ()), (), run) == ()
    assert estimates.p50_ms(Stage.RERANKER, ONE) == before


@pytest.mark.parametrize(
    ("course", "stage", "cut"),
    [
        (LOREGLASS, Stage.BRIDGE, "no_second_hop"),
        (LOREGLASS, Stage.TEXT_SEARCH, "fewer_chunks"),
        (LOREGLASS, Stage.CROPPER, "no_crops"),
        (QA_DRAGON, Stage.OBJECT_LIST, "no_crops"),
        (QA_DRAGON, Stage.QUERY_SPLIT, "one_query"),
        (QA_DRAGON, Stage.ANSWER, "pocket_answer"),
    ],
)
async def test_a_stage_that_the_plan_leaves_out_or_lessens_is_named_by_the_cut(
    course: Course, stage: Stage, cut: str
) -> None:
    plan, _ = live_plan(course, Clock(), 300.0)
    run = Run("trace", Deadline(0.3, Clock()), planning=plan)
    await run.skip(stage)
    assert cut in run.degraded
    assert stage.value not in run.degraded


async def test_a_stage_that_runs_twice_is_told_with_the_time_of_both_runs() -> None:
    clock = Clock()
    run = Run("0" * 32, Deadline.after_ms(10_000, clock))

    async def work(deadline: Deadline) -> None:
        clock.now += 0.25

    await run.required(Stage.TEXT_SEARCH, work)
    await run.required(Stage.TEXT_SEARCH, work)
    assert run.timings_ms == {"text_search": 500.0}
