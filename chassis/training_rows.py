"""Rows that others wrote, for training scripts: what does not fit is named, and no other files are read."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pydantic import ValidationError


class UnreadableRows(Exception):
    """A source as a whole cannot be read; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """A row that was left out: `place` is its file and its number, counted from 1."""

    place: str
    problem: str


def json_lines(path: Path) -> Iterator[bytes]:
    """The lines of a JSONL file that are not empty."""
    return (line for line in path.read_bytes().split(b"\n") if line.strip())


def file_beside(name: str, folder: Path) -> Path:
    """Rows are data: they name files beside themselves and no others. Raises `ValueError`."""
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts:
        raise ValueError(f"the image {name!r} does not lie beside the rows")
    path = folder / place
    if not path.is_file():
        raise ValueError(f"the image {name!r} is not there")
    return path


def in_short(error: Exception) -> str:
    """What is wrong, in a line."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return (str(error).strip() or type(error).__name__).splitlines()[0]
