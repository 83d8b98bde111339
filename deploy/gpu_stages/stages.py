"""What is measured: a stage of a request, as an engine does it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from chassis.accelerator import Accelerator
from deploy.gpu_stages.sizes import Sizes


class Skipped(Exception):
    """This machine cannot measure the stage; the text says why."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What a stage is built from. `folder` is for weights that an engine loads from disk; it is emptied."""

    sizes: Sizes
    accelerator: Accelerator
    folder: Path


@dataclass(frozen=True, slots=True)
class Stage:
    """`work(n)` does n items as the engine would. `budgets`: batch sizes, with the milliseconds that were
    computed or published for one L40S (48 GB), or nothing. `prepare` does one item's share of the CPU."""

    name: str
    item: str
    budgets: Mapping[int, str]
    work: Callable[[int], object]
    prepare: Callable[[], object] | None = None


@dataclass(frozen=True, slots=True)
class Engine:
    """Stages that share one model. `open` raises `Skipped`."""

    name: str
    open: Callable[[Bench], list[Stage]]
