"""`python -m tests.attacks [--only CLASS] [--inputs N] [--seed N]`: attack a platform of its own.

Prints a table, and ends with 1 where something does not hold: a 500, a leak, a dead process, a refusal that
is late by itself too, memory that does not come back. What failed is saved in var/attack, with the command
that sends it again.
"""

import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import httpx
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from chassis.telemetry.logs import configure_logging
from tests.attacks.classes import CLASSES
from tests.attacks.inputs import Scene
from tests.attacks.judging import ROOT, Judge
from tests.attacks.killers import KILLERS, run_killers
from tests.attacks.pictures import saved
from tests.attacks.planted import VICTIMS_QUESTION
from tests.attacks.report import table, told
from tests.attacks.running import Result, Sending, run_class
from tests.attacks.target import Target, ask_well, running_target

OUT = ROOT / "var" / "attack"
KILLERS_NAME = "killers"


def main(
    only: Annotated[list[str] | None, typer.Option(help=", ".join((*CLASSES, KILLERS_NAME)))] = None,
    inputs: Annotated[int, typer.Option(help="of each class")] = 2_000,
    seed: Annotated[int, typer.Option(help="the same seed, the same inputs")] = 1,
    at_once: Annotated[int, typer.Option(help="connections")] = 6,
    killer: Annotated[list[str] | None, typer.Option(help=f"of the killers: {', '.join(KILLERS)}")] = None,
    out: Annotated[Path, typer.Option(help="the table, and what failed")] = OUT,
) -> None:
    """Classes one after the other, then the killers."""
    configure_logging("warning")
    signal.signal(signal.SIGTERM, _told_to_stop)
    unknown = sorted(set(only or ()) - {*CLASSES, KILLERS_NAME})
    if unknown:
        sys.exit(f"There is no class {unknown[0]}; there are {', '.join((*CLASSES, KILLERS_NAME))}.")
    unknown = sorted(set(killer or ()) - set(KILLERS))
    if unknown:
        sys.exit(f"There is no killer {unknown[0]}; there are {', '.join(KILLERS)}.")
    chosen = [name for name in CLASSES if not only or name in only]
    console = Console(width=None if sys.stdout.isatty() else 250)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    holds = True
    with tempfile.TemporaryDirectory() as folder:
        console.print(f"Starting a platform (seed {seed}).")
        with running_target(Path(folder), seed) as target:
            if chosen:
                holds &= _classes(target, chosen, Sending(inputs, seed, at_once), out, console)
            if not only or KILLERS_NAME in only:
                holds &= run_killers(target, killer or list(KILLERS), out, console)
            holds &= _logs(target, console)
    console.print("Everything holds." if holds else f"Not everything holds; see {out}.")
    sys.exit(0 if holds else 1)


def _told_to_stop(number: int, frame: FrameType | None) -> NoReturn:
    """In order, so that the platform ends too."""
    sys.exit(128 + number)


def scene_of(target: Target) -> Scene:
    """A session and a trace of the victim's, for those who look for them."""
    with httpx.Client(timeout=60) as client:
        for _ in range(3):  # engines load with the first
            ask_well(target, client, 30_000)
        said = client.post(
            f"{target.url}/answer",
            json={"question": VICTIMS_QUESTION},
            headers={"Authorization": f"Bearer {target.planted.victim.text}"},
        ).json()
    key = target.planted.attacker.text
    return Scene(key, saved("jpeg"), (said["session_id"],), (said["trace_id"],))


def _classes(target: Target, names: Sequence[str], sending: Sending, out: Path, console: Console) -> bool:
    scene = scene_of(target)
    results: list[Result] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        for name in names:
            task = bar.add_task(name, total=sending.count)
            result = run_class(CLASSES[name], target, scene, sending, partial(bar.update, task))
            results.append(result)
            for line in told(result, out, sending.seed):
                console.print(line, markup=False, highlight=False, soft_wrap=True)
            text = table(results).markdown()
            (out / "table.md").write_text(text + "\n")
    console.print(text, markup=False, highlight=False, soft_wrap=True)
    return all(each.holds for each in results)


def _logs(target: Target, console: Console) -> bool:
    """No log holds a secret."""
    judge = Judge(target.planted.secrets(target.folder))
    found = [
        f"The log of {name} tells {what}."
        for name, content in target.logs()
        for what in judge.leaks_of_log(content)
    ]
    for line in found:
        console.print(line, markup=False, soft_wrap=True)
    return not found


if __name__ == "__main__":
    typer.run(main)
