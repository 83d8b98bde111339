"""docs/benchmarks: a page for each benchmark, written when it has run."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.figures import Table

PAGES = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"


@dataclass(frozen=True, slots=True)
class About:
    """A benchmark's name on the command line and of its page, and the page's text before the tables."""

    name: str
    title: str
    shows: str
    goal: str


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
