"""The anytime plan: before each step, the most that can still be done in the time that is left.

A `Planner` serves all questions; each has a `LivePlan`, which is revised after every stage.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Protocol

from contracts.answer import PlanTrace
from gateway.planning.estimates import Estimates, level_of
from gateway.planning.latencies import Work
from gateway.planning.plan import FULL, LADDER, Cut, Plan, StageGraph
from gateway.planning.stages import FALLBACK_STAGE, REPLY_RESERVE_MS, Stage


@dataclass(frozen=True, slots=True)
class Choice:
    """A plan, and what it is expected to take from now on, reply included, milliseconds.

    `cuts`: all that were made, in the ladder's order. `effective`: those of them that change what still lies
    ahead; a stage that is over got what it got.
    """

    plan: Plan
    expected_ms: float
    cuts: tuple[Cut, ...] = ()
    effective: tuple[Cut, ...] = ()


@dataclass(frozen=True, slots=True)
class _Call:
    """A stage under a plan. `timed_as`: the stage that does its work; `idle_ms` as in the table, `longest_ms`
    with the longest reply."""

    stage: Stage
    timed_as: Stage
    by_model: bool
    idle_ms: float
    longest_ms: float


_Step = tuple[_Call, ...]
"""Calls side by side."""


@dataclass(frozen=True, slots=True)
class _Rung:
    """A plan and its steps. `changed`: stages with another call than on the rung before."""

    plan: Plan
    steps: tuple[_Step, ...]
    changed: frozenset[Stage]

    @property
    def asks_model(self) -> bool:
        """Return whether any stage is the model's."""
        return any(call.by_model for step in self.steps for call in step)


class Planner:
    """Chooses among the rungs of the ladder by live estimates. Keeps nothing of any request."""

    def __init__(self, full: Plan, estimates: Estimates, ladder: tuple[Cut, ...] = LADDER) -> None:
        self.full = full
        self.estimates = estimates
        self.ladder = ladder
        self._rungs: dict[tuple[str, bool], tuple[_Rung, ...]] = {}

    def choose(
        self, remaining_ms: float, done: Collection[Stage], load: int, busy: bool, graph: StageGraph
    ) -> Choice:
        """Return the first rung whose plan fits into `remaining_ms`, the last one if none does.

        It starts from the full plan each time, so that cuts are taken back when there is time again. A busy
        node does not speculate: what may be thrown away would be taken from those who wait. Nothing else is
        given up for being busy, not the judge either: the load is in the estimates already.

        `done`: stages that are over, or that this question is spared.
        """
        rungs = self._ladder_of(graph, busy)
        over = frozenset(done)
        first = graph.reached(done)
        expected = (self._expected_ms(rung.steps[first:], over, load) for rung in rungs)
        last = len(self.ladder)
        height, expected_ms = next(
            (height, ms) for height, ms in enumerate(expected) if ms <= remaining_ms or height == last
        )
        if not height:
            return Choice(rungs[0].plan, expected_ms)
        ahead = {stage for step in graph.in_order(not busy)[first:] for stage in step} - over
        cuts = zip(self.ladder[:height], rungs[1 : height + 1], strict=True)
        effective = tuple(cut for cut, rung in cuts if not ahead.isdisjoint(rung.changed))
        return Choice(rungs[height].plan, expected_ms, self.ladder[:height], effective)

    def expected_ms(self, plan: Plan, done: Collection[Stage], load: int, graph: StageGraph) -> float:
        """Return what `plan` is expected to take from now on, reply included, milliseconds."""
        steps = self._steps(graph, plan)[graph.reached(done) :]
        return self._expected_ms(steps, frozenset(done), load)

    def least_ms(self, load: int, graph: StageGraph) -> float:
        """Return what the smallest plan that still asks the model is expected to take, milliseconds.

        Where no plan does, what the smallest takes.
        """
        rungs = self._ladder_of(graph, busy=True)
        smallest = next((rung for rung in reversed(rungs) if rung.asks_model), rungs[-1])
        return self._expected_ms(smallest.steps, frozenset(), load)

    def without_model(self) -> "Planner":
        """Return a planner of the smallest plan, for questions that the model has no time for."""
        least = replace(self.full, speculate=False)
        for cut in self.ladder:
            least = cut.apply(least)
        return Planner(least, self.estimates, ladder=())

    def fits(
        self, stage: Stage, work: Work, remaining_ms: float, load: int, *, by_model: bool = True
    ) -> bool:
        """Return whether it is worth beginning: half of such calls end in the time that is left."""
        return remaining_ms >= self.estimates.p50_ms(stage, work, load, by_model=by_model)

    def _expected_ms(self, steps: Sequence[_Step], done: frozenset[Stage], load: int) -> float:
        """Return the medians' sum, and of their distances to the ninth decile the root of the sum of squares.

        So the ninth decile of a sum of independent normal times would be.
        """
        medians, squares = float(REPLY_RESERVE_MS), 0.0
        for step in steps:
            median = decile = 0.0  # of calls side by side the slowest counts
            for call in step:
                if call.stage in done:
                    continue
                ratios = self.estimates.ratios(call.timed_as, load, by_model=call.by_model)
                p50 = ratios.p50 * call.idle_ms
                p90 = min(ratios.p90 * call.idle_ms, ratios.p50 * call.longest_ms)
                median, decile = max(median, p50), max(decile, p50, p90)
            medians += median
            squares += (decile - median) ** 2
        return medians + math.sqrt(squares)

    def _ladder_of(self, graph: StageGraph, busy: bool) -> tuple[_Rung, ...]:
        """Return the rungs from the full plan down; worked out once, since the table does not change."""
        key = (graph.name, busy)
        if key not in self._rungs:
            self._rungs[key] = tuple(self._build(graph, busy))
        return self._rungs[key]

    def _build(self, graph: StageGraph, busy: bool) -> Iterator[_Rung]:
        plan = replace(self.full, speculate=self.full.speculate and not busy)
        steps = self._steps(graph, plan)
        yield _Rung(plan, steps, frozenset())
        for cut in self.ladder:
            before = steps
            plan = plan if graph.needs_model and cut.takes_from_model else cut.apply(plan)
            steps = self._steps(graph, plan)
            differing = {call for step in before for call in step} ^ {call for step in steps for call in step}
            yield _Rung(plan, steps, frozenset(call.stage for call in differing))

    def _steps(self, graph: StageGraph, plan: Plan) -> tuple[_Step, ...]:
        """Return as many as the graph has; empty where the plan switches all of it off."""
        return tuple(
            tuple(self._call(graph, stage, plan) for stage in step if graph.includes(stage, plan))
            for step in graph.in_order(plan.speculate)
        )

    def _call(self, graph: StageGraph, stage: Stage, plan: Plan) -> _Call:
        estimates, work = self.estimates, graph.work(stage, plan)
        has_model = estimates.has_model(stage)
        by_model = has_model and graph.asks_model(stage, plan)
        falls_back = has_model and not plan.by_model(stage)
        timed_as = FALLBACK_STAGE.get(stage, stage) if falls_back else stage
        idle_ms = estimates.idle_ms(timed_as, work, by_model=by_model)
        longest_ms = estimates.longest_ms(timed_as, work, by_model=by_model)
        return _Call(stage, timed_as, by_model, idle_ms, longest_ms)


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
        # Once the whole plan fitted into less time, with more ahead and the node no less busy.
        speculates = self._planner.full.speculate and not busy
        as_busy = level_of(load) <= self._level and self.plan.speculate is speculates
        still_fits = as_busy and remaining_ms >= self._whole_ms
        if still_fits or not any(self._course.ahead(self.plan, done)):
            return
        choice = self._planner.choose(remaining_ms, done, load, busy, self._course)
        self._whole_ms = math.inf if choice.cuts else choice.expected_ms
        self._level = level_of(load)
        unchanged = choice.plan == self.plan and bool(self.traces)
        self.plan, self._cuts = choice.plan, choice.effective
        if not unchanged:
            self.traces.append(
                PlanTrace(
                    at_ms=round(at_ms, 2),
                    after=after,
                    remaining_ms=round(remaining_ms, 2),
                    expected_ms=round(choice.expected_ms, 2),
                    load=load,
                    cuts=[cut.name for cut in choice.effective],
                    limits=_limits(choice.plan),
                )
            )

    def observe(self, stage: Stage, work: Work, ms: float, *, by_model: bool) -> None:
        if work.items:
            self._planner.estimates.observe(stage, work, ms, self._node.in_flight, by_model=by_model)


@cache
def _limits(plan: Plan) -> dict[str, int]:
    """Return the plan's fields for the trace. There are at most two plans for each rung of the ladder."""
    return {field.name: int(getattr(plan, field.name)) for field in fields(Plan)}
