"""`python -m bench [--only NAME ...] [--quick]`: run benchmarks, write docs/benchmarks.md."""

import asyncio
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from bench import (
    disconnects,
    faults,
    offered_load,
    overhead,
    peers,
    pocket,
    pocket_faults,
    routes,
    search_at_size,
    slow_calls,
)
from bench.benchmark import Bench, Benchmark, cores
from bench.figures import Table
from bench.generator import Generator, generator
from bench.machine import described
from bench.report import section, write
from chassis.telemetry.logs import configure_logging

BENCHMARKS: dict[str, Benchmark] = {
    each.BENCHMARK.about.name: each.BENCHMARK
    for each in (
        overhead,
        peers,
        routes,
        offered_load,
        slow_calls,
        faults,
        disconnects,
        pocket,
        pocket_faults,
        search_at_size,
    )
}
_QUICK = 0.12


def main(
    only: Annotated[list[str] | None, typer.Option(help=", ".join(BENCHMARKS))] = None,
    quick: Annotated[bool, typer.Option("--quick", help="a glance; the page is not written")] = False,
) -> None:
    """Run them one after the other."""
    configure_logging("warning")
    unknown = sorted(set(only or ()) - set(BENCHMARKS))
    if unknown:
        sys.exit(f"There is no benchmark {unknown[0]}; there are {', '.join(BENCHMARKS)}.")
    chosen = [
        each for name, each in BENCHMARKS.items() if name in (only or ()) or not (only or each.only_if_named)
    ]
    console = Console()
    for each in BENCHMARKS.values():
        if not only and each.only_if_named:
            name = each.about.name
            console.print(f"Left out: {name}, as {each.only_if_named} (--only {name}).")
    with generator(cores()[1]) as load:
        for benchmark in chosen:
            tables = _measured(benchmark, load, _QUICK if quick else 1.0, console)
            _show(console, benchmark, tables)
            if not quick:
                name = benchmark.about.name
                command = f"python -m bench --only {name}"
                write(list(BENCHMARKS), {name: section(benchmark.about, tables, command, described())})


def _measured(benchmark: Benchmark, load: Generator, pace: float, console: Console) -> Sequence[Table]:
    bar = Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console)
    with bar:
        task: TaskID = bar.add_task(benchmark.about.name, total=1.0)

        def progress(done: float, doing: str) -> None:
            bar.update(task, completed=done, description=f"{benchmark.about.name}: {doing}")

        tables = asyncio.run(_run(benchmark, Bench(load, progress, pace)))
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
