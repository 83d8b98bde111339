"""A request's plan is chosen anew when there is reason to: less time than it needs, or a busier node."""

from dataclasses import dataclass

from gateway.planning.estimates import Estimates
from gateway.planning.latencies import Work, load_latencies
from gateway.planning.live_plan import LivePlan
from gateway.planning.plan import FULL
from gateway.planning.planner import Planner
from gateway.planning.stages import Stage
from tests.unit.gateway.planning.stage_graphs import LOREGLASS

DONE = {Stage.OCR}


@dataclass
class Node:
    """As busy as the test says."""

    in_flight: int = 1
    busy: bool = False


def planner() -> Planner:
    """A pocket node that has seen its reranker take 6 s when four are in flight."""
    known = Estimates(load_latencies("pocket"), clock=lambda: 0.0)
    for _ in range(40):
        known.observe(Stage.RERANKER, Work(36), 10.0, load=1)
        known.observe(Stage.RERANKER, Work(36), 6_000.0, load=4)
    return Planner(FULL, known)


def test_a_node_that_became_busier_is_planned_for_anew() -> None:
    node = Node()
    plan = LivePlan(planner(), LOREGLASS, node)
    plan.revise(5_000, set(), 0.0)
    assert plan.plan == FULL
    node.in_flight = 4
    plan.revise(4_900, DONE, 100.0, "ocr")
    assert plan.plan != FULL
    assert [trace.load for trace in plan.traces] == [1, 4]


def test_a_plan_that_fitted_into_less_stays_without_another_look() -> None:
    node = Node()
    plan = LivePlan(planner(), LOREGLASS, node)
    plan.revise(5_000, set(), 0.0)
    plan.revise(4_900, DONE, 100.0, "ocr")
    assert plan.plan == FULL
    assert len(plan.traces) == 1


def test_less_time_than_the_whole_plan_takes_is_noticed() -> None:
    plan = LivePlan(planner(), LOREGLASS, Node())
    plan.revise(5_000, set(), 0.0)
    plan.revise(300, DONE, 4_700.0, "ocr")
    assert plan.plan != FULL
    assert plan.traces[-1].cuts


def test_a_node_that_became_busy_no_longer_speculates() -> None:
    node = Node()
    plan = LivePlan(planner(), LOREGLASS, node)
    plan.revise(5_000, set(), 0.0)
    node.busy = True
    plan.revise(4_900, DONE, 100.0, "ocr")
    assert plan.plan.speculate is False
