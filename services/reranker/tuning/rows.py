"""Rows to train the coarse head on: JSONL of `question`, `image` (a file beside the rows), `positive` (a text
that answers) and, if there are any, `negatives` (texts that do not).
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StrictStr

from chassis.errors import LoreglassError
from chassis.pixels import RGB, decode_rgb
from chassis.training_rows import Malformed, UnreadableRows, file_beside, in_short, json_lines

MAX_SIDE = 672
"""Photos are shrunk to it, as the service does."""

_Text = Annotated[StrictStr, Field(pattern=r"\S", max_length=20_000)]


@dataclass(frozen=True, slots=True)
class Row:
    """`digest`: of the photo's bytes; rows of one photo stay in one part."""

    question: str
    photo: Path
    digest: str
    positive: str
    negatives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """All rows of all sources."""

    rows: tuple[Row, ...]
    malformed: tuple[Malformed, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """Places of rows. `validation` chooses the epoch and the threshold, `held_out` is only measured on."""

    training: tuple[int, ...]
    validation: tuple[int, ...]
    held_out: tuple[int, ...]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    question: _Text
    image: _Text
    positive: _Text
    negatives: tuple[_Text, ...] = Field(default=(), max_length=64)


def read_rows(sources: Sequence[Path]) -> Reading:
    """Every source, a JSONL file. Each photo is decoded once, so that a damaged one is found here.

    Raises `UnreadableRows`.
    """
    rows: list[Row] = []
    malformed: list[Malformed] = []
    for path in sources:
        if not path.is_file():
            raise UnreadableRows(f"There is no file {path}.")
        for number, line in enumerate(json_lines(path), 1):
            try:
                rows.append(_row(line, path.parent))
            except (ValueError, OSError, LoreglassError) as error:
                malformed.append(Malformed(f"{path.name}, row {number}", in_short(error)))
    return Reading(tuple(rows), tuple(malformed))


def pixels(photo: Path) -> RGB:
    """Decoded as the service does it."""
    return decode_rgb(photo.read_bytes(), max_side=MAX_SIDE)


def by_photo(rows: Sequence[Row], validation: float, held_out: float, seed: int) -> Split:
    """Photos in a seeded order: the first share is held out, the next validates, the rest is trained on."""
    photos = sorted({row.digest for row in rows})
    order = [photos[place] for place in np.random.default_rng(seed).permutation(len(photos))]
    first, second = round(held_out * len(order)), round((held_out + validation) * len(order))
    parts = (set(order[second:]), set(order[first:second]), set(order[:first]))
    return Split(*(tuple(n for n, row in enumerate(rows) if row.digest in part) for part in parts))


def _row(line: bytes, folder: Path) -> Row:
    given = _Row.model_validate(json.loads(line))
    photo = file_beside(given.image, folder)
    pixels(photo)
    digest = hashlib.sha256(photo.read_bytes()).hexdigest()
    return Row(given.question.strip(), photo, digest, given.positive, given.negatives)
