"""Train heads in run folders and read their summaries."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from training.config import Settings, dump_config
from training.runs import SUMMARY, RunFolder

Config = TypeVar("Config", bound=Settings)


def begun(folder: Path, config: Settings) -> RunFolder:
    """A silent run in that folder, new or interrupted before."""
    run = RunFolder(folder, say=lambda _: None)
    run.begin(dump_config(config))
    return run


def trained(train: Callable[[Config, RunFolder], object], config: Config, folder: Path) -> RunFolder:
    """A run in that folder, which may be one that was broken off."""
    run = begun(folder, config)
    train(config, run)
    return run


def told(run: RunFolder) -> dict[str, Any]:
    """What came out."""
    found: dict[str, Any] = json.loads((run.path / SUMMARY).read_text("utf-8"))
    return found
