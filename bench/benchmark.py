"""The shape of a benchmark, its tables, and its page in docs/benchmarks."""

import math
import os
import platform
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from rich.console import Console

from bench.generator import Generator

PAGES = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"


@dataclass(frozen=True, slots=True)
class About:
    """A benchmark's name on the command line and of its page, and the page's text before the tables."""

    name: str
    title: str
    shows: str
    goal: str


@dataclass(frozen=True, slots=True)
class Table:
    """One result. `finding`: the sentence that says whether the goal was met."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    finding: str = ""
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """Return the table in Markdown; the first column to the left, figures to the right."""
        rules = ["---", *("---:" for _ in self.headers[1:])]
        rows = (self.headers, rules, *self.rows)
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


@dataclass(frozen=True, slots=True)
class Bench:
    """Options of a run. `pace`: share of the full duration (`--quick`: below 1)."""

    generator: Generator
    console: Console
    pace: float = 1.0

    def progress(self, done: float, doing: str) -> None:
        """Print the next step; `done` in 0..1."""
        self.console.print(f"{done:4.0%} {doing}", highlight=False)

    def seconds(self, full: float, least: float = 1.0) -> float:
        """Return the seconds of a load."""
        return max(least, full * self.pace)

    def count(self, full: int, least: int = 20) -> int:
        """Return the number of requests."""
        return max(least, round(full * self.pace))


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One page. `only_if_named`: the reason why it runs only if it is named, if any."""

    about: About
    run: Callable[[Bench], Coroutine[None, None, Sequence[Table]]]
    only_if_named: str = ""


def cores() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The core of what is measured, and those of everything else, where there are two."""
    usable = sorted(os.sched_getaffinity(0))
    return ((usable[0],), tuple(usable[1:])) if len(usable) > 1 else ((), ())


def page(about: About, tables: Sequence[Table], command: str, machine: str) -> str:
    """Return the page in Markdown."""
    parts = [f"# {about.title}", about.shows, f"**Goal:** {about.goal}"]
    for table in tables:
        parts += [part for part in (table.markdown(), table.finding) if part]
        parts += ["\n".join(f"- {note}" for note in table.notes)] if table.notes else []
    parts.append(f"`{command}` on {machine}.")
    return "\n\n".join(parts) + "\n"


def write(name: str, text: str, folder: Path = PAGES) -> None:
    """Write a benchmark's page; others stay as they are."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_text(text, "utf-8")


def machine() -> str:
    """CPU, cores, memory, interpreter, kernel and date, in one line."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    parts = (
        _cpu_model(),
        f"{len(os.sched_getaffinity(0))} cores",
        f"{memory_gib:.0f} GiB",
        f"Python {platform.python_version()}",
        f"Linux {platform.release()}",
        f"{datetime.now(UTC):%Y-%m-%d}",
    )
    return ", ".join(parts)


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that at least `share` (0..1) do not exceed, by nearest rank; nan without values."""
    return float(np.quantile(values, share, method="inverted_cdf")) if values else math.nan


def number(value: float, digits: int = 1) -> str:
    """Return the number as tables show it; a dash if it could not be measured."""
    return f"{value:,.{digits}f}" if math.isfinite(value) else "–"


def share(part: float, whole: float) -> str:
    """Return a share in per cent."""
    return f"{number(100 * part / whole)} %" if whole else "–"
