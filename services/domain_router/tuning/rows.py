"""Reads rows in CRAG-MM's schema from JSONL and Parquet; what does not fit is named, never dropped silently.

Turns are a dict of columns (v0.1.2) or a list of dicts (v0.1.1); domains are names or codes. What codes mean
stands in the Parquet file itself, or for JSONL in `features.json` (or `dataset_info.json`) beside it. An
image is a file beside the rows, `{"bytes": base64, "path": ...}`, a `data:` URI, or null. Nothing is
downloaded: a row that has only an `image_url` teaches its question without a photo.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, field_validator

from chassis.errors import LoreglassError
from chassis.pixels import RGB, decode_rgb
from chassis.training_rows import Malformed, UnreadableRows, file_beside, in_short, json_lines
from services.domain_router.engine import IMAGE_SIDE
from services.domain_router.tuning.labels import domain_names, domain_number

Photo = bytes | Path
"""An image file's content, or the file."""

_FEATURE_FILES = ("features.json", "dataset_info.json")
_PARQUET_ROWS = 64


@dataclass(frozen=True, slots=True)
class Example:
    """A question of a session; `domain` is its place in `Domain`."""

    session: str
    question: str
    domain: int
    photo: Photo | None


@dataclass(frozen=True, slots=True)
class Reading:
    """All rows of all sources."""

    examples: tuple[Example, ...]
    malformed: tuple[Malformed, ...]


class _Turn(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    domain: StrictInt | StrictStr
    query: StrictStr = Field(pattern=r"\S")


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    content: bytes | StrictStr | None = Field(default=None, alias="bytes")  # text: base64
    path: str | None = None


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    session_id: StrictStr = Field(min_length=1)
    image: StrictStr | _File | None = None
    turns: tuple[_Turn, ...] = Field(min_length=1)

    @field_validator("turns", mode="before")
    @classmethod
    def _columns_to_turns(cls, turns: Any) -> Any:
        if not isinstance(turns, Mapping):
            return turns
        columns = {name: turns[name] for name in ("domain", "query") if isinstance(turns.get(name), list)}
        if len(columns) != 2 or len({len(column) for column in columns.values()}) != 1:
            raise ValueError("the columns domain and query must be there, with one length")
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def read_rows(sources: Sequence[Path]) -> Reading:
    """Every source: a .jsonl or .parquet file, or a folder of them.

    Each photo is decoded once, so that a damaged one is found here. Raises `UnreadableRows`.
    """
    examples: list[Example] = []
    malformed: list[Malformed] = []
    for path in (file for source in sources for file in _files(source)):
        names, rows = _parquet(path) if path.suffix == ".parquet" else _jsonl(path)
        for number, row in enumerate(rows, 1):
            try:
                examples.extend(_examples(row, path.parent, names))
            except (ValueError, OSError, LoreglassError) as error:
                malformed.append(Malformed(f"{path.name}, row {number}", in_short(error)))
    return Reading(tuple(examples), tuple(malformed))


def pixels(photo: Photo) -> RGB:
    """Decoded as the service does it."""
    data = photo if isinstance(photo, bytes) else photo.read_bytes()
    return decode_rgb(data, max_side=IMAGE_SIDE)


def _files(source: Path) -> list[Path]:
    if source.is_dir():
        files = sorted(each for each in source.iterdir() if each.suffix in (".jsonl", ".parquet"))
        if not files:
            raise UnreadableRows(f"{source} holds no .jsonl or .parquet file.")
        return files
    if source.suffix not in (".jsonl", ".parquet") or not source.is_file():
        raise UnreadableRows(f"{source} is no .jsonl or .parquet file, and no folder.")
    return [source]


def _jsonl(path: Path) -> tuple[tuple[str, ...] | None, Iterator[Any]]:
    beside = (path.with_name(name) for name in _FEATURE_FILES)
    file = next((each for each in beside if each.is_file()), None)
    names = _names(file.read_text("utf-8"), file.name) if file else None
    return names, json_lines(path)


def _parquet(path: Path) -> tuple[tuple[str, ...] | None, Iterator[Any]]:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise UnreadableRows("Reading Parquet needs pyarrow (pip install pyarrow), or give JSONL.") from error
    try:
        file = ParquetFile(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise UnreadableRows(f"{path} is no Parquet file: {in_short(error)}") from error
    written = (file.schema_arrow.metadata or {}).get(b"huggingface")
    names = _names(written.decode("utf-8"), path.name) if written else None
    wanted = [name for name in ("session_id", "image", "turns") if name in file.schema_arrow.names]
    batches = file.iter_batches(_PARQUET_ROWS, columns=wanted)
    return names, (row for batch in batches for row in batch.to_pylist())


def _names(text: str, place: str) -> tuple[str, ...] | None:
    """From a dataset's description, however deep its features lie in it."""
    try:
        described = json.loads(text)
        described = described.get("info", described)
        return domain_names(described.get("features", described))
    except (ValueError, AttributeError) as error:
        raise UnreadableRows(f"{place} does not describe CRAG-MM's features: {in_short(error)}") from error


def _examples(row: Any, folder: Path, names: Sequence[str] | None) -> list[Example]:
    if isinstance(row, bytes):
        row = json.loads(row)
    checked = _Row.model_validate(row)
    photo = _photo(checked.image, folder)
    if photo is not None:
        pixels(photo)
    return [
        Example(checked.session_id, turn.query.strip(), domain_number(turn.domain, names), photo)
        for turn in checked.turns
    ]


def _photo(image: str | _File | None, folder: Path) -> Photo | None:
    if isinstance(image, _File):
        if isinstance(image.content, str):
            return base64.b64decode(image.content, validate=True)
        if image.content is not None:
            return image.content
        image = image.path
    if not image:
        return None
    if image.startswith("data:"):
        return base64.b64decode(image.partition(",")[2], validate=True)
    return file_beside(image, folder)
