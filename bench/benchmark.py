"""The shape of a benchmark, and the options of a run."""

import os
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench.figures import Table
from bench.generator import Generator
from bench.report import About


@dataclass(frozen=True, slots=True)
class Bench:
    """Options of a run. `pace`: share of the full duration (`--quick`: below 1). `photos`: a folder."""

    generator: Generator
    console: Console
    pace: float = 1.0
    photos: Path | None = None

    def progress(self, done: float, doing: str) -> None:
        """Say what begins now; `done` in 0..1."""
        self.console.print(f"{done:4.0%} {doing}", highlight=False)

    def seconds(self, full: float, least: float = 1.0) -> float:
        """How long to send."""
        return max(least, full * self.pace)

    def count(self, full: int, least: int = 20) -> int:
        """How often to send."""
        return max(least, round(full * self.pace))


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One page. `only_if_named`: why nobody gets it unasked, if so."""

    about: About
    run: Callable[[Bench], Coroutine[None, None, Sequence[Table]]]
    only_if_named: str = ""


def cores() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The core of what is measured, and those of everything else, where there are two."""
    usable = sorted(os.sched_getaffinity(0))
    return ((usable[0],), tuple(usable[1:])) if len(usable) > 1 else ((), ())
