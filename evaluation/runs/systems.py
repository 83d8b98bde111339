"""What is measured: a pipeline, whole or without some of its modules, and the name that it has in reports."""

from dataclasses import dataclass

_LEFT_OUT = "-no-"


@dataclass(frozen=True, slots=True)
class System:
    """A pipeline as it is asked. `without`: the modules that each question is answered without."""

    pipeline: str
    without: tuple[str, ...] = ()

    @classmethod
    def named(cls, name: str) -> "System":
        """By its name in reports: `qa-dragon-no-reranking` is `qa-dragon` without `reranking`."""
        pipeline, *without = name.split(_LEFT_OUT)
        return cls(pipeline, tuple(without))
