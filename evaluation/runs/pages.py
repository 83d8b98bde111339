"""A dataset's texts as a manifest that `loreglass index pages` reads."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from evaluation.data.model import Text
from evaluation.runs.store import RunError

PAGES = "pages.jsonl"


def write_pages(texts: Iterable[Text], folder: Path) -> Path:
    """The file, in the run's folder. Raises `RunError`."""
    path = folder / PAGES
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(asdict(each)) + "\n" for each in texts), encoding="utf-8")
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}.") from error
    return path
