"""`python -m bench [NAME ...] [--quick]`: run benchmarks and write docs/benchmarks."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from bench import faults, offered_load, overhead, peers, pocket
from bench.benchmark import Bench, Benchmark, cores
from bench.figures import Table
from bench.generator import Generator, generator
from bench.machine import described
from bench.report import write
from chassis.telemetry.logs import configure_logging

BENCHMARKS: dict[str, Benchmark] = {
    each.BENCHMARK.about.name: each.BENCHMARK for each in (overhead, peers, offered_load, faults, pocket)
}
_QUICK = 0.12
_NAMES = ", ".join(BENCHMARKS)


def main(
    names: Annotated[list[str] | None, typer.Argument(help=_NAMES)] = None,
    only: Annotated[list[str] | None, typer.Option(help="the same; further names may follow")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="shorter; no page is written")] = False,
    photos: Annotated[
        Path | None, typer.Option(help="a folder of your photos, for profile", file_okay=False, exists=True)
    ] = None,
) -> None:
    """Run the named benchmarks, or all that install nothing, one after the other."""
    configure_logging("warning")
    wanted = {*(names or ()), *(only or ())}
    if unknown := sorted(wanted - set(BENCHMARKS)):
        sys.exit(f"There is no benchmark {unknown[0]}. There are: {_NAMES}.")
    chosen = [
        each for name, each in BENCHMARKS.items() if name in wanted or not (wanted or each.only_if_named)
    ]
    console = Console()
    for each in BENCHMARKS.values():
        if not wanted and each.only_if_named:
            name = each.about.name
            console.print(f"Left out: {name}, as {each.only_if_named} (--only {name}).")
    with generator(cores()[1]) as load:
        for benchmark in chosen:
            tables = _measured(benchmark, load, _QUICK if quick else 1.0, photos, console)
            _show(console, benchmark, tables)
            if not quick:
                command = f"python -m bench --only {benchmark.about.name}"
                write(benchmark.about, tables, command, described())


def _measured(
    benchmark: Benchmark, load: Generator, pace: float, photos: Path | None, console: Console
) -> Sequence[Table]:
    bar = Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console)
    with bar:
        task: TaskID = bar.add_task(benchmark.about.name, total=1.0)

        def progress(done: float, doing: str) -> None:
            bar.update(task, completed=done, description=f"{benchmark.about.name}: {doing}")

        tables = asyncio.run(_run(benchmark, Bench(load, progress, pace, photos)))
        progress(1.0, "done")
    return tables


async def _run(benchmark: Benchmark, bench: Bench) -> Sequence[Table]:
    return await benchmark.run(bench)


def _show(console: Console, benchmark: Benchmark, tables: Sequence[Table]) -> None:
    console.print(benchmark.about.title, style="bold")
    for table in tables:
        for text in (table.markdown(), table.finding, *table.notes):
            console.print(text, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
