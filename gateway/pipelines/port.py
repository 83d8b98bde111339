"""The interface of a named pipeline, and what an experiment changes of one for a single question."""

from dataclasses import replace
from typing import Any, Protocol, cast

from chassis.errors import InvalidRequest
from contracts.answer import Experiment
from gateway.planning.plan import StageGraph
from gateway.planning.run import Run
from gateway.state import Query
from gateway.steps.conclusion import Outcome
from gateway.thresholds import Thresholds

PAPER_PIPELINES = frozenset(
    {
        *("qa-dragon", "three-step", "wiki-prf", "direct-rag", "llm-only", "cot"),
        *("crag-mm-task-1", "crag-mm-task-2", "crag-mm-task-3"),
    }
)
"""Pipelines that are offered only with a language model: nothing stands in for it."""


PLANNER = "planner"
"""A module of every pipeline. Without it nothing is given up for want of time; the deadline still ends it."""


class Pipeline(Protocol):
    """Answers one question inside `run.deadline`; keeps nothing between calls. A frozen dataclass.

    One that holds something against thresholds has a field `thresholds`. One of which an experiment may leave
    `modules` out has them as a class variable, and a field `missing`.
    """

    @property
    def name(self) -> str:
        """Return what callers put into `pipeline`."""

    @property
    def stage_graph(self) -> StageGraph:
        """The stages that it may go through, for planning."""

    async def answer(self, query: Query, run: Run) -> Outcome:
        """Return the outcome. Raises `LoreglassError` only when not even a refusal can be honest."""


def thresholds_of(pipeline: Pipeline) -> Thresholds | None:
    """Return the thresholds in force; None for a pipeline that holds nothing against any."""
    return getattr(pipeline, "thresholds", None)


def with_thresholds(pipeline: Pipeline, thresholds: Thresholds) -> Pipeline:
    """Return the pipeline with other thresholds if it has any; the given one stays as it is."""
    if thresholds_of(pipeline) is None:
        return pipeline
    return cast(Pipeline, replace(cast(Any, pipeline), thresholds=thresholds))


def vary(pipeline: Pipeline, experiment: Experiment | None) -> Pipeline:
    """Return the pipeline as the experiment wants it. Raises `InvalidRequest`."""
    if experiment is not None and experiment.thresholds:
        in_force = thresholds_of(pipeline)
        if in_force is None:
            raise InvalidRequest("experiment.thresholds: this pipeline has none.")
        try:
            pipeline = with_thresholds(pipeline, in_force.with_overrides(experiment.thresholds))
        except ValueError as error:
            raise InvalidRequest(f"experiment.thresholds: {error}.") from error
    missing = frozenset(experiment.without if experiment is not None else ()) - {PLANNER}
    return _without(pipeline, missing) if missing else pipeline


def _without(pipeline: Pipeline, missing: frozenset[str]) -> Pipeline:
    modules: frozenset[str] = getattr(pipeline, "modules", frozenset())
    if not modules:
        raise InvalidRequest("experiment.without: this pipeline has no modules that can be left out.")
    unknown = sorted(missing - modules)
    if unknown:
        names = ", ".join(sorted(modules | {PLANNER}))
        raise InvalidRequest(
            f"experiment.without: there is no module {unknown[0][:40]!r}; there are: {names}."
        )
    return cast(Pipeline, replace(cast(Any, pipeline), missing=missing))
