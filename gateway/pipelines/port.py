"""What every named pipeline is."""

from typing import Protocol, runtime_checkable

from gateway.planning.run import Run
from gateway.planning.stage_graph import StageGraph
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
