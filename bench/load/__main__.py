"""`python -m bench.load`: start platforms, send wearers, write reports to var/load.

Locust runs in a process of its own: it patches the one it is in.
"""

import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench.load.figures import summary
from bench.load.platforms import PLATFORMS, Target
from bench.settings import ROOT, environment
from bench.wearers.records import Results
from bench.wearers.shape import Shape

OUT = ROOT / "var" / "load"
_LOCUSTFILE = ROOT / "bench" / "wearers" / "locustfile.py"
_TRANSPORT_MS = 1_000
"""More than locust's own default: wearers and platform are on the same cores here."""
_BROKEN = 2
"""Exit statuses above 1: not the objectives but the run itself failed."""


def main(
    shape: Annotated[list[Shape] | None, typer.Option(help="wearers and ramp unless given")] = None,
    platform: Annotated[list[str] | None, typer.Option(help=" or ".join(PLATFORMS))] = None,
    seconds: Annotated[int, typer.Option(min=5, help="how long each run is")] = 60,
    users: Annotated[int, typer.Option(help="wearers; 0: half of what each can take")] = 0,
    think: Annotated[float, typer.Option(help="mean seconds between a wearer's questions")] = 4.0,
    overload: Annotated[float, typer.Option(help="times as many wearers at the ramp's peak")] = 10.0,
    deadline_ms: Annotated[int, typer.Option(help="what wearers will wait")] = 10_000,
    out: Annotated[Path, typer.Option(help="where reports go", show_default="var/load")] = OUT,
) -> None:
    """Run every shape before every platform; leave with 1 if an objective was missed."""
    unknown = sorted(set(platform or ()) - set(PLATFORMS))
    if unknown:
        sys.exit(f"There is no platform {unknown[0]}; there are {' and '.join(PLATFORMS)}.")
    console, runs = Console(), dict[str, Results]()
    for name in platform or PLATFORMS:
        chosen = PLATFORMS[name]
        wanted = [f"--users={users or chosen.users}", f"--run-time={seconds}s", f"--wearers-think={think}"]
        wanted += [f"--spawn-rate={users or chosen.users}", f"--wearers-deadline-ms={deadline_ms}"]
        wanted += [f"--wearers-overload={overload}", f"--wearers-transport-ms={_TRANSPORT_MS}"]
        with console.status(f"{name}: starting") as status, chosen.open(out) as target:
            for each in shape or (Shape.WEARERS, Shape.RAMP):
                title = f"{name}, {each}"
                console.print(f"{title}: {seconds} s at {chosen.title}")
                status.update(f"{title}: until {datetime.now() + timedelta(seconds=seconds):%H:%M:%S}")
                runs[title] = _run(target, each, wanted, out / f"{name}-{each}")
    _show(console, runs, out)
    sys.exit(0 if all(verdict.held for run in runs.values() for verdict in run.verdicts) else 1)


def _run(target: Target, shape: Shape, wanted: list[str], folder: Path) -> Results:
    """Locust's tables go to a file; its report and CSV beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results.json"
    results.unlink(missing_ok=True)
    command = [sys.executable, "-m", "locust", "-f", str(_LOCUSTFILE), "--headless", "--only-summary"]
    command += [f"--host={target.url}", f"--shape={shape}", f"--wearers-material={target.material}"]
    command += [
        f"--html={folder / 'report.html'}",
        f"--csv={folder / 'locust'}",
        f"--wearers-results={results}",
    ]
    with (folder / "locust.log").open("wb") as log:
        ended = subprocess.run(
            [*command, *wanted], cwd=ROOT, env=environment({}), stdout=log, stderr=log, check=False
        )
    if ended.returncode >= _BROKEN or not results.exists():
        sys.exit(f"Locust failed:\n{(folder / 'locust.log').read_text()[-2000:]}")
    return Results.read(results)


def _show(console: Console, runs: dict[str, Results], out: Path) -> None:
    table = Table("", *runs, box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for rows in zip(*(summary(run) for run in runs.values()), strict=True):
        table.add_row(rows[0][0], *(figure for _, figure in rows))
    console.print(table)
    for title, run in runs.items():
        console.print(f"\n{title}", style="bold")
        for verdict in run.verdicts:
            style, word = ("green", "held  ") if verdict.held else ("red", "missed")
            console.print(
                f"  [{style}]{word}[/{style}] {verdict.name}: {verdict.sentence}",
                highlight=False,
                soft_wrap=True,
            )
    console.print(f"\nReports: {out}", highlight=False)


if __name__ == "__main__":
    typer.run(main)
