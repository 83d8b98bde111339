"""Parquet files, read twice: first without the images, then the images that are wanted. JSON lines."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.data.checks import BadRow
from evaluation.data.labels import Labels, labels_of
from evaluation.data.model import DatasetError

COLUMNS = ("session_id", "image_url", "turns", "answers", "image_quality")
"""Columns that are read, besides `image`."""
IMAGE = "image"
LONGEST_LINE = 8 * 2**20
"""Bytes of one line of JSONL."""

_PART_OF_SPLIT = re.compile(r"-\d{3,}(?:-of-\d{3,})?(?:-[0-9a-f]+)?$")
_ROWS_AT_ONCE = 256
_IMAGES_AT_ONCE = 16

Numbered = tuple[int, Mapping[str, Any] | BadRow]


class UnreadableFile(Exception):
    """A file as a whole cannot be read; the message says why, in one sentence."""


def table_files(folder: Path) -> list[Path]:
    """The Parquet files in a folder, in order; hidden ones left out."""
    return sorted(
        path
        for path in folder.rglob("*.parquet")
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def split_of(name: str) -> str:
    """`data/validation-00000-of-00002.parquet` is of `validation`, and so is `validation/0000.parquet`."""
    path = Path(name)
    return path.parent.name if path.stem.isdecimal() else _PART_OF_SPLIT.sub("", path.stem)


@dataclass(frozen=True, slots=True)
class Table:
    """One Parquet file as the `datasets` library writes it. Its methods raise `UnreadableFile`."""

    path: Path

    def labels(self) -> Labels:
        """From the schema's metadata."""
        described = (self._open().schema_arrow.metadata or {}).get(b"huggingface", b"{}")
        try:
            return labels_of(json.loads(described).get("info", {}).get("features"))
        except (ValueError, AttributeError, RecursionError) as error:
            raise UnreadableFile("The description of its features is not JSON.") from error

    def rows(self, columns: Sequence[str] = COLUMNS) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Numbered from 0; read in batches."""
        yield from enumerate(row for batch in self._batches(columns, _ROWS_AT_ONCE) for row in batch)

    def images(self, wanted: Collection[int]) -> Iterator[tuple[int, object]]:
        """Only of the row groups that hold a wanted row."""
        file = self._open()
        if IMAGE not in file.schema_arrow.names:
            return
        first = 0
        for group in range(file.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            if any(number in wanted for number in range(first, first + count)):
                number = first
                for batch in self._batches((IMAGE,), _IMAGES_AT_ONCE, [group]):
                    for row in batch:
                        if number in wanted:
                            yield number, row[IMAGE]
                        number += 1
            first += count

    def _batches(
        self, columns: Sequence[str], size: int, groups: list[int] | None = None
    ) -> Iterator[list[dict[str, Any]]]:
        import pyarrow

        file = self._open()
        held = [column for column in columns if column in file.schema_arrow.names]
        try:
            for batch in file.iter_batches(size, row_groups=groups, columns=held, use_threads=False):
                yield batch.to_pylist()
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise UnreadableFile("Its rows cannot be read; the file is damaged.") from error

    def _open(self) -> Any:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise DatasetError(
                'Reading Parquet takes pyarrow: pip install "loreglass[evaluation-data]".'
            ) from error
        try:
            return pyarrow.parquet.ParquetFile(self.path)
        except (pyarrow.ArrowException, OSError) as error:
            raise UnreadableFile("It is not a Parquet file, or damaged.") from error


def json_lines(path: Path) -> Iterator[Numbered]:
    """The objects of a file with one on each line; empty lines count, but are nothing.

    Raises `UnreadableFile`.
    """
    try:
        with path.open("rb") as stream:
            number = 0
            while line := stream.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    while line and not line.endswith(b"\n"):
                        line = stream.readline(LONGEST_LINE)
                    yield number, BadRow("malformed_row", f"It is longer than {LONGEST_LINE // 2**20} MiB.")
                elif line.strip():
                    yield number, _parse(line)
                number += 1
    except OSError as error:
        raise UnreadableFile(f"{path.name} cannot be read ({error.strerror}).") from error


def _parse(line: bytes) -> Mapping[str, Any] | BadRow:
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return BadRow("malformed_row", "The line is not JSON.")
    return row if isinstance(row, dict) else BadRow("malformed_row", "The line is not a JSON object.")
