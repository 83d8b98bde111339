"""Attacks in full size, each of which has stopped a platform of this kind."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.figures import Table, number
from tests.attacks.killers import bodies, engines, photos, wire
from tests.attacks.killers.attack import Killer, Outcome, run_killer
from tests.attacks.target import Target

KILLERS: dict[str, Killer] = {
    each.name: each for each in itertools.chain(photos.KILLERS, bodies.KILLERS, wire.KILLERS, engines.KILLERS)
}
_HEADERS = (
    *("killer", "sent", "its replies", "longest s", "MiB before", "peak", "after", "MiB on disk"),
    *("descriptors", "others", "slowest s", "slowest ready s", "holds"),
)


def run_killers(target: Target, names: Sequence[str], out: Path, console: Console) -> bool:
    """Each of them in turn; whether all hold."""
    outcomes: list[Outcome] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("killers", total=len(names))
        for name in names:
            bar.update(task, description=name)
            outcome = run_killer(KILLERS[name], target)
            outcomes.append(outcome)
            bar.advance(task)
            for line in (*outcome.faults(), *outcome.course.notes, f"others: {outcome.waits.told()}"):
                console.print(f"{name}: {line}", markup=False, highlight=False, soft_wrap=True)
            text = Table(_HEADERS, tuple(map(_row, outcomes))).markdown()
            (out / "killers.md").write_text(text + "\n")
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    return not any(each.faults() for each in outcomes)


def _row(each: Outcome) -> tuple[str, ...]:
    replies = ", ".join(f"{count} x {status}" for status, count in sorted(each.course.statuses.items()))
    answered = len(each.waits.asked) - sum(not it.startswith("ready") for it in each.waits.statuses)
    peak = f"{number(each.peak_mib, 0)}{', killed' if each.died else ''}"
    return (
        *(each.killer.name, each.killer.sent, replies or "none", number(each.course.held_s)),
        *(number(each.before_mib, 0), peak, number(each.after_mib, 0), number(each.file_mib, 0)),
        *(str(each.descriptors), f"{answered} of {len(each.waits.asked)} answered"),
        *(number(each.waits.slowest), number(each.waits.slowest_ready), "NO" if each.faults() else "yes"),
    )
