"""`loreglass train`: data, SFT, GRPO, heads, the small reader, merging, reports."""

import typer

from training.commands.data import data, report
from training.commands.reader import reader
from training.commands.train import grpo, head, merge, presets, sft

app = typer.Typer(no_args_is_help=True, add_completion=False)

app.command("data")(data)
app.command("presets")(presets)
app.command("sft")(sft)
app.command("grpo")(grpo)
app.command("head")(head)
app.command("reader")(reader)
app.command("merge")(merge)
app.command("report")(report)


@app.callback()
def root() -> None:
    """Train what the platform serves, by the papers' recipes, from runs of the platform itself."""
