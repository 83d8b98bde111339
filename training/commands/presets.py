"""`loreglass train presets`: the recipes that come along."""

from itertools import takewhile

import typer

from training.config import PRESETS, preset_names


def presets() -> None:
    """Name the recipes, with the first sentence of each. A copy of one is a start for your own settings."""
    for name in preset_names():
        lines = (PRESETS / f"{name}.yaml").read_text("utf-8").splitlines()
        opening = takewhile(lambda line: line.startswith("# "), lines)
        told = " ".join(line.removeprefix("# ").strip() for line in opening)
        typer.echo(f"{name}: {told.partition('. ')[0].removesuffix('.')}.")
    typer.echo(f"They lie in {PRESETS}.")
