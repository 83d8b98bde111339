"""`loreglass simulate`: how a node, or several, would bear a load, in a fraction of the time."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from capacity.placement.node_file import DEFAULT_FILE, read
from capacity.simulation.load import Load, parse_mix, parse_rates
from capacity.simulation.nodes import mix_of, nodes_of
from capacity.simulation.outcomes import Result, knee
from capacity.simulation.run import Nodes
from capacity.simulation.run import simulate as run_simulation
from capacity.simulation.tables import by_route, knee_sentence, totals
from chassis.startup import CannotStart
from chassis.telemetry.logs import configure_logging

app = typer.Typer(add_completion=False)


@app.command()
def simulate(
    placement: Annotated[Path, typer.Option(help="what is on a node's cards")] = DEFAULT_FILE,
    nodes: Annotated[int, typer.Option(min=1, max=64, help="nodes, all alike")] = 1,
    rate: Annotated[str, typer.Option(help="questions a second, one row each")] = "0.5,1,1.5,2,3,4",
    seconds: Annotated[float, typer.Option(help="of virtual time, for each rate")] = 120.0,
    mix: Annotated[
        str | None, typer.Option(help="direct=.3,verify=.2,rag=.5; by default the placement's traffic")
    ] = None,
    pipeline: Annotated[str, typer.Option(help="who answers")] = "loreglass",
    deadline_ms: Annotated[
        int, typer.Option(min=1, help="of each question; nodes are planned for it")
    ] = 10_000,
    seed: Annotated[int, typer.Option(help="the same one gives the same figures")] = 7,
) -> None:
    """Ask simulated nodes: the real gateway on each, and stand-ins for the services and the model."""
    configure_logging("critical")
    console = Console(highlight=False)
    try:
        file = read(placement)
        simulated = nodes_of(file, nodes, deadline_ms, seed)
        shares = parse_mix(mix) if mix else mix_of(file)
        loads = [Load(each, seconds, shares, pipeline, deadline_ms, seed) for each in parse_rates(rate)]
        results = _run(simulated, loads, console)
    except CannotStart as error:
        sys.exit(str(error))
    for part in (totals(results), by_route(knee(results) or results[0]), knee_sentence(results)):
        console.print(part, "")


def _run(nodes: Nodes, loads: Sequence[Load], console: Console) -> list[Result]:
    bar = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    results: list[Result] = []
    with Progress(*bar, console=console, transient=True) as progress:
        task = progress.add_task("", total=sum(load.seconds for load in loads))
        for load in loads:
            before = load.seconds * len(results)

            def show(at_s: float, before: float = before) -> None:
                progress.update(task, completed=before + at_s)

            progress.update(task, description=f"{load.rate:g} req/s")
            results.append(run_simulation(nodes, load, show))
    return results
