"""docs/benchmarks: a page for each benchmark, written when it has run."""

from collections.abc import Sequence
from dataclasses import dataclass
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


def write(about: About, tables: Sequence[Table], command: str, machine: str, folder: Path = PAGES) -> None:
    """Write the benchmark's page; others stay as they are."""
    folder.mkdir(exist_ok=True)
    (folder / f"{about.name}.md").write_text(page(about, tables, command, machine), "utf-8")
