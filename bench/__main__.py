"""`python -m bench [NAME ...] [--quick]`: run benchmarks and write docs/benchmarks."""

import asyncio
import sys
from typing import Annotated

import typer
from rich.console import Console

from bench import offered_load, overhead, peers, profile
from bench.benchmark import Bench, Benchmark, cores, machine, page, write
from bench.generator import generator
from chassis.telemetry.logs import configure_logging

BENCHMARKS: dict[str, Benchmark] = {
    each.BENCHMARK.about.name: each.BENCHMARK for each in (overhead, peers, offered_load, profile)
}
_QUICK = 0.12
_NAMES = ", ".join(BENCHMARKS)


def main(
    names: Annotated[list[str] | None, typer.Argument(help=_NAMES)] = None,
    only: Annotated[list[str] | None, typer.Option(help="the same; further names may follow")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="shorter; no page is written")] = False,
) -> None:
    """Run the named benchmarks, or all that install nothing, one after the other."""
    configure_logging("warning")
    selection = {*(names or ()), *(only or ())}
    if unknown := sorted(selection - set(BENCHMARKS)):
        sys.exit(f"There is no benchmark {unknown[0]}. There are: {_NAMES}.")
    console = Console()
    with generator(cores()[1]) as load:
        for name, benchmark in BENCHMARKS.items():
            if selection and name not in selection:
                continue
            if not selection and benchmark.only_if_named:
                console.print(f"Left out: {name}, as {benchmark.only_if_named} (--only {name}).")
                continue
            text = _page(benchmark, Bench(load, console, _QUICK if quick else 1.0))
            console.print(text, markup=False, highlight=False, soft_wrap=True)
            if not quick:
                write(name, text)


def _page(benchmark: Benchmark, bench: Bench) -> str:
    command = f"python -m bench --only {benchmark.about.name}"
    return page(benchmark.about, asyncio.run(benchmark.run(bench)), command, machine())


if __name__ == "__main__":
    typer.run(main)
