"""`loreglass plan`: check that a node's processes fit on its cards, and write their environment."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from capacity import environment
from capacity.node_file import DEFAULT_FILE, read
from capacity.proposal import Proposal, propose, service_share
from chassis.startup import CannotStart
from services.vlm.presets import PRESETS

DEFAULT_DEADLINE_MS = 10_000
MOST_DEADLINE_MS = 60_000
"""The gateway's `max_deadline_ms`: with a longer default it would refuse every question."""

app = typer.Typer(add_completion=False)


@app.command()
def plan(
    file: Annotated[Path, typer.Argument(help="the placement file")] = DEFAULT_FILE,
    cards: Annotated[int | None, typer.Option(min=1, max=64, help="in place of the file's")] = None,
    preset: Annotated[str | None, typer.Option(help=f"in place of the file's: {', '.join(PRESETS)}")] = None,
    sequences: Annotated[int | None, typer.Option(min=1, max=1024, help="in place of the file's")] = None,
    deadline_ms: Annotated[
        int, typer.Option(min=100, max=MOST_DEADLINE_MS, help="of a question")
    ] = DEFAULT_DEADLINE_MS,
    write: Annotated[
        Path | None, typer.Option(metavar="FOLDER", file_okay=False, help="write the environment files")
    ] = None,
    voice: Annotated[bool, typer.Option("--voice", help="with the file's servers of speech")] = False,
) -> None:
    """Check that FILE fits on its cards, and show the plan or write it as environment files."""
    console = Console(highlight=False)
    overrides = {"--cards": cards, "--preset": preset, "--sequences": sequences}
    if deadline_ms != DEFAULT_DEADLINE_MS:
        overrides["--deadline-ms"] = deadline_ms
    options = [f"{name} {value}" for name, value in overrides.items() if value is not None]
    try:
        placement = read(file, cards=cards, preset=preset, sequences=sequences, voice=voice)
        proposal = propose(placement, deadline_ms)
        contents = environment.files(proposal, file.name, [*options, *(["--voice"] if voice else [])])
        _show(proposal, console)
        if write is not None:
            environment.write(write, contents)
            console.print(f"Written to {escape(str(write))}: {len(contents)} files")
    except CannotStart as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"{error.filename} cannot be written: {error.strerror}.")


def _show(proposal: Proposal, console: Console) -> None:
    """Print a table of each card's memory, and the options of the model server."""
    file, vlm = proposal.file, proposal.vlm
    cards = file.node.cards
    where = f"{cards} card{'s' if cards > 1 else ''} of {file.node.memory_gb:g} GB"
    console.print(f"[bold]{escape(file.node.name)}[/bold]: {escape(file.vlm.preset)} on {where}")
    console.print(_table(proposal))
    on_cpu = [name for name, card in proposal.layout.services.items() if card is None]
    console.print(f"  CPU: {', '.join(on_cpu) or 'none'}")
    console.print(
        f"  vLLM: --gpu-memory-utilization {vlm.share:g} --max-model-len {vlm.context} "
        f"--max-num-seqs {vlm.sequences}"
    )
    for role, each in file.voice.items():
        vllm = each.chosen.command[:1] == ("vllm",)
        share = f" --gpu-memory-utilization {service_share(file, role):g}" if vllm else ""
        console.print(f"  {role}: {each.preset}{share}")
    console.print(
        f"  gateway: {vlm.sequences} questions at once; small models: "
        f"{file.node.burst_ms:g} GPU ms at once on a card"
    )


def _table(proposal: Proposal) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("GPU", justify="right")
    table.add_column("process")
    table.add_column("GB", justify="right")
    table.add_column("share", justify="right")
    for card in range(proposal.file.node.cards):
        parts = proposal.parts(card)
        for name, gb in parts.items():
            share = f"{gb / proposal.file.node.memory_gb:.1%}"
            table.add_row(str(card), name, f"{gb:.1f}", share, end_section=name == list(parts)[-1])
    return table
