"""`loreglass train presets`: the recipes that come along."""

import typer

from training.config import PRESETS, preset_names


def presets() -> None:
    """Name the recipes, with the first line of each. A copy of one is a start for settings of your own."""
    for name in preset_names():
        first = (PRESETS / f"{name}.yaml").read_text("utf-8").splitlines()[0].removeprefix("# ")
        typer.echo(f"{name}: {first}")
    typer.echo(f"They lie in {PRESETS}.")
