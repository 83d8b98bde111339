"""`python -m tests.attacks [--only NAME] [--seconds N] [--seed N]`: attack a platform of its own.

Prints a table, and ends with 1 where something does not hold: a 500, a leak, a dead process, a refusal that
is late when it is sent again too, a good client that waits too long, memory that does not come back.
"""

import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from bench.benchmark import Table, number
from chassis.telemetry.logs import configure_logging
from tests.attacks.attack import Attack, Outcome, run_attack
from tests.attacks.generated import generated
from tests.attacks.judging import ROOT
from tests.attacks.killers import KILLERS
from tests.attacks.lines import LINES
from tests.attacks.target import Target, running_target

OUT = ROOT / "var" / "attack"
_HEADERS = (
    *("attack", "sent", "its replies", "longest s", "MiB before", "peak", "after", "MiB on disk"),
    *("others", "slowest s", "slowest ready s", "holds"),
)


def main(
    only: Annotated[list[str] | None, typer.Option(help="names of attacks, as the table has them")] = None,
    seconds: Annotated[int, typer.Option(help="for generated requests")] = 600,
    seed: Annotated[int, typer.Option(help="of generated requests and keys")] = 1,
    out: Annotated[Path, typer.Option(help="the table, and what schemathesis found")] = OUT,
) -> None:
    """Send generated requests, lines that no client sends, then the killers."""
    configure_logging("warning")
    signal.signal(signal.SIGTERM, _end)
    attacks = (generated(out, seed, "--max-time", str(seconds), most_s=seconds + 300), LINES, *KILLERS)
    names = [each.name for each in attacks]
    unknown = sorted(set(only or ()) - set(names))
    if unknown:
        sys.exit(f"Unknown attack {unknown[0]}. Choose from: {', '.join(names)}.")
    console = Console(width=None if sys.stdout.isatty() else 250)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        console.print(f"Starting a platform (seed {seed}).")
        with running_target(Path(folder), seed) as target:
            holds = _run([each for each in attacks if not only or each.name in only], target, out, console)
            holds &= _logs(target, console)
    console.print("Everything holds." if holds else f"Not everything holds; see {out}.")
    sys.exit(0 if holds else 1)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """Exit in order, so that the platform ends too."""
    sys.exit(128 + number)


def _run(attacks: Sequence[Attack], target: Target, out: Path, console: Console) -> bool:
    """Run one attack after the other; return whether all hold."""
    outcomes: list[Outcome] = []
    for place, attack in enumerate(attacks, 1):
        console.print(f"{place} of {len(attacks)}: {attack.name}")
        outcomes.append(outcome := run_attack(attack, target))
        others = ", ".join(f"{count} x {each}" for each, count in Counter(outcome.waits.statuses).items())
        for line in (*outcome.faults(), *outcome.course.notes, f"others: {others or 'all well'}"):
            console.print(f"{attack.name}: {line}", markup=False, highlight=False, soft_wrap=True)
        text = Table(_HEADERS, tuple(map(_row, outcomes))).markdown()
        (out / "table.md").write_text(text + "\n")
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    return not any(each.faults() for each in outcomes)


def _row(each: Outcome) -> tuple[str, ...]:
    replies = ", ".join(f"{count} x {status}" for status, count in sorted(each.course.statuses.items()))
    answered = len(each.waits.durations_s) - sum(not it.startswith("ready") for it in each.waits.statuses)
    peak = f"{number(each.peak_mib, 0)}{', killed' if each.died else ''}"
    return (
        *(each.attack.name, each.attack.sent, replies or "none", number(each.course.held_s)),
        *(number(each.before_mib, 0), peak, number(each.after_mib, 0), number(each.file_mib, 0)),
        f"{answered} of {len(each.waits.durations_s)} answered",
        *(number(max(each.waits.durations_s)), number(max(each.waits.ready_s))),
        "NO" if each.faults() else "yes",
    )


def _logs(target: Target, console: Console) -> bool:
    """Return whether no log holds a secret."""
    results = target.leaks()
    for name, secrets in results.items():
        console.print(f"The log of {name} tells {', '.join(secrets)}.", markup=False, soft_wrap=True)
    return not results


if __name__ == "__main__":
    typer.run(main)
