"""Of a version on disk: which parts of its input are in it whole."""

from collections.abc import Sequence
from pathlib import Path

from chassis.vectors.checked import Damaged, read_checked, write_checked

_FILE = "finished.json"


def write_finished(folder: Path, parts: Sequence[str]) -> None:
    """In place of what was told before; durable when the call returns."""
    write_checked(folder / _FILE, list(parts))


def read_finished(folder: Path) -> tuple[str, ...]:
    """Nothing where it was never told, or cannot be read: then every part is gone through again."""
    try:
        return tuple(map(str, read_checked(folder / _FILE)))
    except (OSError, Damaged):
        return ()
