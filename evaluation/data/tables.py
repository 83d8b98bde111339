"""CRAG-MM's Parquet files, from a folder or the hub, and what their labels mean."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluation.data.model import DatasetError
from evaluation.data.rows import BadRow, UnreadableFile

COLUMNS = ("session_id", "image_url", "turns", "answers", "image_quality")
"""Columns that are read, besides `image`."""
IMAGE = "image"

_PART_OF_SPLIT = re.compile(r"-\d{3,}(?:-of-\d{3,})?(?:-[0-9a-f]+)?$")
_ROWS_AT_ONCE = 256
_IMAGES_AT_ONCE = 16


def table_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder in order, without hidden ones."""
    return sorted(
        path
        for path in folder.rglob("*.parquet")
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def split_of(name: str) -> str:
    """Return the split, e.g. of `data/validation-00000-of-00002.parquet` or `validation/0000.parquet`."""
    path = Path(name)
    return path.parent.name if path.stem.isdecimal() else _PART_OF_SPLIT.sub("", path.stem)


VOCABULARY: Mapping[str, tuple[str, ...]] = {
    "domain": (
        "animal",
        "book",
        "food",
        "general object recognition",
        "local",
        "math and science",
        "plants and gardening",
        "shopping",
        "sports and games",
        "style and fashion",
        "text understanding",
        "vehicle",
        "other",
    ),
    "query_category": (
        "simple-recognition",
        "simple-knowledge",
        "multi-hop",
        "comparison",
        "aggregation",
        "reasoning",
    ),
    "dynamism": ("static", "slow-changing", "fast-changing", "real-time"),
    "image_quality": ("normal", "low light", "blurred", "truncated", "occluded", "rotated"),
}
"""The benchmark's words, by column."""

_DEEPEST = 32


@dataclass(frozen=True, slots=True)
class Labels:
    """`names`: of each column's codes, in their order, as the dataset declares them."""

    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def word(self, column: str, value: object) -> str:
        """Return the label's word; empty if there is none. Raises `BadRow`."""
        if value is None or value == "":
            return ""
        names = self.names.get(column, ())
        if isinstance(value, str):
            if (spelled := canonical(column, value)) or value in names:
                return spelled or value
            raise BadRow("unknown_label", f"{column} knows no {value[:60]!r}.")
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadRow("unknown_label", f"{column} is neither a code nor a word.")
        if not names:
            raise BadRow("unknown_label", f"{column} is the code {value}, and no features say what it means.")
        if not 0 <= value < len(names):
            raise BadRow("unknown_label", f"{column} has no code {value}, only 0 to {len(names) - 1}.")
        return canonical(column, names[value]) or names[value]


def canonical(column: str, word: str) -> str:
    """Return the benchmark's spelling of a label (`Low-Light`: `low light`); empty if it is unknown."""
    wanted = _plain(word)
    return next((each for each in VOCABULARY[column] if _plain(each) == wanted), "")


def _class_labels(node: Any, column: str, depth: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the class names in features as the `datasets` library describes them, however nested."""
    if depth > _DEEPEST:
        return
    if isinstance(node, list):
        for each in node:
            yield from _class_labels(each, column, depth + 1)
    elif isinstance(node, Mapping):
        names = node.get("names")
        if node.get("_type") == "ClassLabel" and column in VOCABULARY:
            yield column, tuple(map(str, names)) if isinstance(names, list) else ()
            return
        for key, value in node.items():
            yield from _class_labels(value, key if key in VOCABULARY else column, depth + 1)


def _plain(word: str) -> str:
    return re.sub(r"[\s_\-–]+", " ", word).strip().casefold()


@dataclass(frozen=True, slots=True)
class Table:
    """One Parquet file as the `datasets` library writes it. Its methods raise `UnreadableFile`."""

    path: Path

    def labels(self) -> Labels:
        """Read the labels from the schema's metadata."""
        described = (self._open().schema_arrow.metadata or {}).get(b"huggingface", b"{}")
        try:
            features = json.loads(described).get("info", {}).get("features")
            return Labels(dict(_class_labels(features, "", 0)))
        except (ValueError, AttributeError, RecursionError) as error:
            raise UnreadableFile("The description of its features is not JSON.") from error

    def rows(self, columns: Sequence[str] = COLUMNS) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the rows with their numbers from 0, read in batches."""
        yield from enumerate(row for batch in self._batches(columns, _ROWS_AT_ONCE) for row in batch)

    def images(self, wanted: Collection[int]) -> Iterator[tuple[int, object]]:
        """Yield images, reading only row groups that have a chosen row."""
        file = self._open()
        if IMAGE not in file.schema_arrow.names:
            return
        first = 0
        for group in range(file.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            if any(number in wanted for number in range(first, first + count)):
                batches = self._batches((IMAGE,), _IMAGES_AT_ONCE, [group])
                rows = enumerate((row for batch in batches for row in batch), first)
                yield from ((number, row[IMAGE]) for number, row in rows if number in wanted)
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


_SOURCE = re.compile(r"([\w][\w.-]{0,95}/[\w][\w.-]{0,95})(?:@([\w][\w./-]{0,127}))?")
_USUAL_SPLIT = "validation"
_LONGEST = 400


def hub_id(source: str) -> tuple[str, str | None] | None:
    """Split `owner/name` or `owner/name@revision` into its parts; None for anything else."""
    match = _SOURCE.fullmatch(source)
    return (match[1], match[2]) if match and ".." not in source else None


def fetch_split(repository: str, revision: str | None, split: str | None) -> tuple[str, Path, list[Path]]:
    """Return the split, the repository's folder, and the split's files; download missing files.

    Raises `DatasetError`. What was downloaded before is used when the hub cannot be reached.
    """
    try:
        import httpx2
        from huggingface_hub import errors, snapshot_download
    except ImportError as error:
        raise DatasetError(
            'Datasets of the hub take huggingface-hub: pip install "loreglass[evaluation-data]".'
        ) from error
    wanted = split or _USUAL_SPLIT
    offline = (errors.HfHubHTTPError, errors.OfflineModeIsEnabled, httpx2.HTTPError, OSError, ValueError)
    try:
        folder = Path(
            snapshot_download(
                repository, repo_type="dataset", revision=revision, allow_patterns=f"*{wanted}*.parquet"
            )
        )
    except offline as error:  # gated, private, no such revision: the hub's words say which
        why = " ".join(str(error).split())[:_LONGEST].rstrip(".")
        raise DatasetError(
            f"{repository} could not be fetched: {why}. You can also give a folder with its Parquet files."
        ) from error
    files = [path for path in sorted(folder.rglob("*.parquet")) if split_of(str(path)) == wanted]
    if not files:
        raise DatasetError(f"{repository} has no Parquet files of a split {wanted!r}: name one with --split.")
    return wanted, folder, files


def choose_split(splits: Sequence[str], split: str | None, where: str) -> str:
    """Return `split` or, if it is empty, the only split or `validation`. Raises `DatasetError`."""
    if split is None and len(splits) == 1:
        return splits[0]
    wanted = split or _USUAL_SPLIT
    if wanted not in splits:
        raise DatasetError(f"{where} has no split {wanted!r}; it has {', '.join(sorted(splits))}.")
    return wanted
