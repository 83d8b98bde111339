"""One request's plan: what it may still do, chosen when it starts and again after each stage."""

import math
from collections.abc import Collection, Iterator
from dataclasses import fields
from functools import cache
from typing import Protocol

from contracts.answer import PlanTrace
from gateway.planning.estimates import level_of
from gateway.planning.latencies import Work
from gateway.planning.plan import FULL, Cut, Plan, StageGraph
from gateway.planning.planner import Choice, Planner
from gateway.planning.stages import FALLBACK_STAGE, Stage


class NodeLoad(Protocol):
    """The load of this node."""

    @property
    def in_flight(self) -> int:
        """Questions being worked on."""

    @property
    def busy(self) -> bool:
        """Return whether work that may turn out unneeded would be at others' cost."""


class FixedPlan:
    """A plan that is never revised: everything that `plan` allows, whatever the time."""

    def __init__(self, plan: Plan = FULL) -> None:
        self.plan = plan
        self.traces: list[PlanTrace] = []

    def cuts_at(self, stage: Stage) -> Iterator[Cut]:
        """Return what was given up of this stage."""
        yield from ()

    def has_model(self, stage: Stage) -> bool:
        """Return whether there is a model here, and the stage is one that it can do."""
        return False

    def asks_model(self, stage: Stage) -> bool:
        """Return whether the model does the stage, if there is one and it is one that a model can do."""
        return True

    def spares_model(self, stage: Stage) -> bool:
        """Return whether a stage that is the model's is done without it, for lack of time."""
        return False

    def fits(self, stage: Stage, work: Work, remaining_ms: float, *, by_model: bool) -> bool:
        """Return whether the stage is likely to end in time."""
        return True

    def fallback_ms(self, stage: Stage) -> float:
        """Return how long the fallback of a stage takes, the ninth decile in milliseconds."""
        return 0.0

    def revise(self, remaining_ms: float, done: Collection[Stage], at_ms: float, after: str = "") -> None:
        """Choose anew for what is ahead."""

    def observe(self, stage: Stage, work: Work, ms: float, *, by_model: bool) -> None:
        """Learn how long a stage took; one without work tells nothing."""


class LivePlan(FixedPlan):
    """The plan of one request on this node; what it learns serves the requests after it."""

    def __init__(self, planner: Planner, graph: StageGraph, node: NodeLoad) -> None:
        super().__init__(planner.full)
        self._planner = planner
        self._course = graph
        self._node = node
        self._cuts: tuple[Cut, ...] = ()
        self._whole_ms = math.inf
        self._level = 0

    def cuts_at(self, stage: Stage) -> Iterator[Cut]:
        return (cut for cut in self._cuts if stage in cut.stages)

    def has_model(self, stage: Stage) -> bool:
        return self._planner.estimates.has_model(stage)

    def asks_model(self, stage: Stage) -> bool:
        return self._course.asks_model(stage, self.plan)

    def spares_model(self, stage: Stage) -> bool:
        by_rule = stage in self._course.by_rule
        return self.has_model(stage) and not by_rule and not self.plan.by_model(stage)

    def fits(self, stage: Stage, work: Work, remaining_ms: float, *, by_model: bool) -> bool:
        return self._planner.fits(stage, work, remaining_ms, self._node.in_flight, by_model=by_model)

    def fallback_ms(self, stage: Stage) -> float:
        return self._planner.estimates.p90_ms(FALLBACK_STAGE[stage], load=self._node.in_flight)

    def revise(self, remaining_ms: float, done: Collection[Stage], at_ms: float, after: str = "") -> None:
        """See `FixedPlan`; a change is kept for the trace."""
        load, busy = self._node.in_flight, self._node.busy
        if self._still_fits(remaining_ms, load, busy) or not any(self._course.ahead(self.plan, done)):
            return
        choice = self._planner.choose(remaining_ms, done, load, busy, self._course)
        self._whole_ms = math.inf if choice.cuts else choice.expected_ms
        self._level = level_of(load)
        unchanged = choice.plan == self.plan and bool(self.traces)
        self.plan, self._cuts = choice.plan, choice.effective
        if unchanged:
            return
        self.traces.append(_trace(choice, remaining_ms, load, at_ms, after))

    def _still_fits(self, remaining_ms: float, load: int, busy: bool) -> bool:
        """Return whether the whole plan once fitted into less, with more ahead and the node no less busy."""
        speculates = self._planner.full.speculate and not busy
        as_busy = level_of(load) <= self._level and self.plan.speculate is speculates
        return as_busy and remaining_ms >= self._whole_ms

    def observe(self, stage: Stage, work: Work, ms: float, *, by_model: bool) -> None:
        if work.items:
            self._planner.estimates.observe(stage, work, ms, self._node.in_flight, by_model=by_model)


@cache
def _limits(plan: Plan) -> dict[str, int]:
    """Return the plan's fields for the trace. There are at most two plans for each rung of the ladder."""
    return {field.name: int(getattr(plan, field.name)) for field in fields(Plan)}


def _trace(choice: Choice, remaining_ms: float, load: int, at_ms: float, after: str) -> PlanTrace:
    return PlanTrace(
        at_ms=round(at_ms, 2),
        after=after,
        remaining_ms=round(remaining_ms, 2),
        expected_ms=round(choice.expected_ms, 2),
        load=load,
        cuts=[cut.name for cut in choice.effective],
        limits=_limits(choice.plan),
    )
