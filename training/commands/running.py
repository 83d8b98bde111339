"""What commands that train have in common: settings, a folder, and all cards at once."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from training.config import Settings, WrongConfig, dump_config, load_config
from training.runs import RunFolder

Config = Annotated[str, typer.Argument(metavar="CONFIG", help="a preset by name (`presets`), or a YAML file")]
Data = Annotated[
    list[Path] | None, typer.Argument(metavar="[DATA]...", help="folders of `train data`; else the config's")
]
Out = Annotated[
    Path | None, typer.Option(help="the run's folder; one that was broken off goes on", file_okay=False)
]
PlanOnly = Annotated[bool, typer.Option("--plan", help="show the memory that it takes of a card, and end")]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="another setting: lora.rank=8", metavar="NAME=VALUE")
]

Kind = TypeVar("Kind", bound=Settings)


def settings_of(config: str, kind: type[Kind], data: Sequence[Path] | None, given: list[str] | None) -> Kind:
    """The config with what the command line says in its place. Raises `WrongConfig`."""
    return load_config(config, kind, given or [], data or [])


def on_all_cards(cards: int) -> None:
    """Become one process a card, by torch's own launcher, unless this is one of them.

    Raises `WrongConfig` where there are fewer.
    """
    import torch

    if cards > 1 and not torch.distributed.is_torchelastic_launched():
        here = torch.cuda.device_count()
        if here < cards:
            raise WrongConfig(f"There are {here} cards here, not {cards}: --set cards={max(here, 1)}")
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(cards)]
        os.execv(sys.executable, [sys.executable, *launcher, "-m", "loreglass", *sys.argv[1:]])


def opened(out: Path | None, config: Settings) -> RunFolder:
    """The run's folder, taken by the first process. Raises `WrongConfig` and `RunRefused`."""
    from training.trainers import on_main

    if out is None:
        raise WrongConfig("Say where the run is kept: --out RUN.")
    run = RunFolder(out, say=_say if on_main() else _silent)
    if on_main():
        run.begin(dump_config(config))
    return run


def _say(line: str) -> None:
    typer.echo(line, err=True)


def _silent(line: str) -> None:
    """Another process says it."""
