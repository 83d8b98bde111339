"""What every named pipeline is."""

from typing import Protocol, runtime_checkable

from gateway.budget.course import Course
from gateway.stages.conclusion import Outcome
from gateway.stages.run import Run
from gateway.state import Ask
from gateway.thresholds import Thresholds


class Pipeline(Protocol):
    """Answers one question inside `run.deadline`; keeps nothing between calls."""

    @property
    def name(self) -> str:
        """What callers put into `pipeline`."""
        ...

    @property
    def course(self) -> Course:
        """The stages that it may go through, for planning."""
        ...

    async def answer(self, ask: Ask, run: Run) -> Outcome:
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
