"""docs/benchmarks.md: one section a benchmark, of which only those that ran are written anew."""

import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.figures import Table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
_HEAD = """# Benchmarks

Written by `make bench`; the figures are of the machine that each section names. Ratios are taken in one
run, in interleaved rounds; arrivals are open-loop and timed from the scheduled send, unless a table says
otherwise.
"""
_SECTION = re.compile(r"^<!-- bench:(?P<name>[a-z-]+) -->\n.*?(?=^<!-- bench:|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class About:
    """What a benchmark is: its name on the command line, and what its section says before the table."""

    name: str
    title: str
    shows: str
    goal: str


def section(about: About, tables: Sequence[Table], command: str, machine: str) -> str:
    """The section, from its marker on."""
    parts = [f"<!-- bench:{about.name} -->\n## {about.title}", about.shows, f"**Goal:** {about.goal}"]
    for table in tables:
        parts += [part for part in (table.markdown(), table.finding) if part]
        parts += ["\n".join(f"- {note}" for note in table.notes)] if table.notes else []
    parts.append(f"`{command}` on {machine}.")
    return "\n\n".join(parts) + "\n"


def rewritten(page: str, order: Sequence[str], new: dict[str, str]) -> str:
    """`page` with the sections in `new` in place of those of the same names; `order` is the page's."""
    sections = {found["name"]: found[0].rstrip() + "\n" for found in _SECTION.finditer(page)} | new
    return "\n".join([_HEAD, *(sections[name] for name in order if name in sections)])


def write(order: Sequence[str], new: dict[str, str], page: Path = PAGE) -> None:
    """Put the sections on the page."""
    before = page.read_text("utf-8") if page.exists() else ""
    page.write_text(rewritten(before, order, new), "utf-8")


def described() -> str:
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
