"""`loreglass plan`: what fits on a node."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from capacity.placement import environment, view
from capacity.placement.memory import small_gb
from capacity.placement.node_file import DEFAULT_FILE, PlacementFile, read
from capacity.placement.packing import DoesNotFit
from capacity.placement.proposal import Proposal, propose
from chassis.startup import CannotStart
from services.vlm.presets import PRESETS

DEFAULT_DEADLINE_MS = 10_000
MOST_DEADLINE_MS = 60_000
"""What a gateway allows (`max_deadline_ms`); with a default beyond it, it would refuse every question."""

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)


@app.command()
def plan(
    file: Annotated[Path, typer.Argument(help="the placement file")] = DEFAULT_FILE,
    cards: Annotated[int | None, typer.Option(min=1, max=64, help="in place of the file's")] = None,
    preset: Annotated[str | None, typer.Option(help=f"in place of the file's: {', '.join(PRESETS)}")] = None,
    deadline_ms: Annotated[int, typer.Option(min=100, max=MOST_DEADLINE_MS)] = DEFAULT_DEADLINE_MS,
    write: Annotated[
        Path | None, typer.Option(metavar="FOLDER", file_okay=False, help="write the environment files")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="are the files beside FILE up to date?")] = False,
    voice: Annotated[bool, typer.Option("--voice", help="with the file's servers of speech")] = False,
) -> None:
    """Check that FILE fits on its cards, choose what follows from it, and show or write it."""
    if check and write is not None:
        sys.exit("--check compares the files beside FILE and writes none: give it or --write.")
    console = Console(highlight=False)
    try:
        placement = read(file, cards=cards, preset=preset, voice=voice)
        proposal = propose(placement, placement.node.cards, deadline_ms)
        contents = environment.files(proposal, file.name, _options(cards, preset, deadline_ms, voice))
        if check:
            sys.exit(_check(file.parent, contents, console))
        _show(placement, proposal, console)
        if not voice:
            _say_whether_voice_fits(read(file, cards=cards, preset=preset, voice=True), proposal, console)
        if write is not None:
            environment.write(write, contents)
            console.print(f"Written to {escape(str(write))}: {len(contents)} files")
    except CannotStart as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"{error.filename} cannot be written: {error.strerror}.")


def _options(cards: int | None, preset: str | None, deadline_ms: int, voice: bool) -> list[str]:
    """What was not left to the file, as it was typed."""
    given = {"--cards": cards, "--preset": preset}
    if deadline_ms != DEFAULT_DEADLINE_MS:
        given["--deadline-ms"] = deadline_ms
    told = [f"{name} {value}" for name, value in given.items() if value is not None]
    return [*told, "--voice"] if voice else told


def _check(folder: Path, contents: dict[Path, str], console: Console) -> int:
    stale = environment.stale(folder, contents)
    if stale:
        names = ", ".join(str(path) for path in stale)
        console.print(f"Not as the plan has them: {escape(names)}. Write them again with --write.")
        return 1
    console.print(f"{len(contents)} files are up to date.")
    return 0


def _show(file: PlacementFile, proposal: Proposal, console: Console) -> None:
    """Each count of cards up to what there is."""
    for count in range(1, file.node.cards):
        try:
            view.show(propose(file, count, proposal.deadline_ms), console)
        except DoesNotFit as error:
            console.print(f"[bold]{count} of the cards[/bold]: {escape(str(error))}")
        console.print()
    view.show(proposal, console)


def _say_whether_voice_fits(file: PlacementFile, without: Proposal, console: Console) -> None:
    """One line, of what `--voice` would show."""
    if not file.voice:
        return
    try:
        found = propose(file, file.node.cards, without.deadline_ms)
    except DoesNotFit as error:
        console.print(f"  with --voice: {escape(str(error))}")
        return
    memory = sum(small_gb(file, role) for role in file.voice)
    names = " and ".join(each.preset for each in file.voice.values())
    console.print(f"  with --voice: it fits, {memory:.1f} GB for {names};")
    console.print(
        f"    vLLM then has {found.vlm.share:g} of the card for {found.vlm.sequences} sequences "
        f"(now {without.vlm.share:g} for {without.vlm.sequences})"
    )
