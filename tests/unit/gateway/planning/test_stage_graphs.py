"""What pipelines are planned with, and plans that are chosen anew."""

from dataclasses import dataclass

from gateway.planning.estimates import Estimates
from gateway.planning.latencies import WORKING, Work, load_latencies
from gateway.planning.plan import FULL, LADDER, Plan, StageGraph
from gateway.planning.planner import LivePlan, Planner
from gateway.planning.stages import STAGE_BUDGETS, Stage
from tests.unit.gateway.planning.stage_graphs import (
    CRAG_MM_TASK_2,
    LOREGLASS,
    STAGE_GRAPHS,
)


def read(graph: StageGraph, stage: Stage, plan: Plan = FULL) -> int:
    return graph.work(stage, plan).extra_prompt_tokens


def test_every_stage_has_a_budget_and_the_session_is_last() -> None:
    assert set(STAGE_BUDGETS) == set(WORKING)
    assert all(graph.steps[-1] == (Stage.SESSION,) for graph in STAGE_GRAPHS.values())


def test_cuts_scale_every_budget_and_larger_plans_add_nothing() -> None:
    plan = FULL
    for cut in LADDER:
        plan = cut.apply(plan)
    assert read(CRAG_MM_TASK_2, Stage.ANSWER, plan) == 10_000 * plan.evidence_chars // FULL.evidence_chars
    assert plan.share_of_hits(50) == 25
    assert Plan(text_hits=0).share_of_hits(50) == 1
    large = Plan(evidence_chars=20_000, text_hits=40)
    assert (large.share_of_evidence(8_000), large.share_of_hits(50)) == (8_000, 50)


DONE = {Stage.OCR}


@dataclass
class Node:
    """As busy as the test says."""

    in_flight: int = 1
    busy: bool = False


def planner() -> Planner:
    """A pocket node that has seen its reranker take 6 s when four are in flight."""
    live = Estimates(load_latencies("lite"), clock=lambda: 0.0)
    for _ in range(40):
        live.observe(Stage.RERANKER, Work(36), 10.0, load=1)
        live.observe(Stage.RERANKER, Work(36), 6_000.0, load=4)
    return Planner(FULL, live)


def plan_again(remaining_ms: float, in_flight: int = 1, busy: bool = False) -> LivePlan:
    """Choose the full plan, and look again after a stage, at a node that has become so."""
    node = Node()
    plan = LivePlan(planner(), LOREGLASS, node)
    plan.revise(5_000, set(), 0.0)
    assert plan.plan == FULL
    node.in_flight, node.busy = in_flight, busy
    plan.revise(remaining_ms, DONE, 5_000 - remaining_ms, "ocr")
    return plan


def test_increased_load_replans() -> None:
    plan = plan_again(4_900, in_flight=4)
    assert plan.plan != FULL
    assert [trace.load for trace in plan.traces] == [1, 4]


def test_plan_with_enough_time_is_kept() -> None:
    plan = plan_again(4_900)
    assert (plan.plan, len(plan.traces)) == (FULL, 1)


def test_too_little_time_replans() -> None:
    plan = plan_again(300)
    assert plan.plan != FULL
    assert plan.traces[-1].cuts


def test_newly_busy_node_stops_speculating() -> None:
    assert plan_again(4_900, busy=True).plan.speculate is False
