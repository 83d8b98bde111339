"""The interface of a named pipeline, and what an experiment changes of one for a single question."""

from typing import Protocol, runtime_checkable

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


class Pipeline(Protocol):
    """Answers one question inside `run.deadline`; keeps nothing between calls."""

    @property
    def name(self) -> str:
        """What callers put into `pipeline`."""
        ...

    @property
    def stage_graph(self) -> StageGraph:
        """The stages that it may go through, for planning."""
        ...

    async def answer(self, query: Query, run: Run) -> Outcome:
        """The outcome. Raises `LoreglassError` only when not even a refusal can be honest."""
        ...


@runtime_checkable
class Tunable(Protocol):
    """A pipeline that holds something against thresholds; one that does not need not be this."""

    @property
    def thresholds(self) -> Thresholds:
        """Those in force."""
        ...

    def using(self, thresholds: Thresholds) -> Pipeline:
        """The same pipeline with others, for one question; this one stays as it is."""
        ...


@runtime_checkable
class Ablatable(Protocol):
    """A pipeline of which an experiment may leave modules out; one without such modules need not be this."""

    @property
    def modules(self) -> frozenset[str]:
        """Their names."""
        ...

    def without(self, missing: frozenset[str]) -> Pipeline:
        """The same pipeline without these modules, for one question; this one stays as it is."""
        ...


def varied(pipeline: Pipeline, experiment: Experiment | None) -> Pipeline:
    """The pipeline as the experiment wants it. Raises `InvalidRequest`, which names what is wrong with it."""
    if experiment is None:
        return pipeline
    if experiment.thresholds:
        pipeline = _tuned(pipeline, experiment.thresholds)
    return _without(pipeline, frozenset(experiment.without)) if experiment.without else pipeline


def _tuned(pipeline: Pipeline, thresholds: dict[str, float]) -> Pipeline:
    if not isinstance(pipeline, Tunable):
        raise InvalidRequest("experiment.thresholds: this pipeline has none.")
    try:
        return pipeline.using(pipeline.thresholds.with_overrides(thresholds))
    except ValueError as error:
        raise InvalidRequest(f"experiment.thresholds: {error}.") from error


def _without(pipeline: Pipeline, missing: frozenset[str]) -> Pipeline:
    if not isinstance(pipeline, Ablatable):
        raise InvalidRequest("experiment.without: this pipeline has no modules that can be left out.")
    unknown = sorted(missing - pipeline.modules)
    if unknown:
        known = ", ".join(sorted(pipeline.modules))
        raise InvalidRequest(
            f"experiment.without: there is no module {unknown[0][:40]!r}; there are: {known}."
        )
    return pipeline.without(missing)
