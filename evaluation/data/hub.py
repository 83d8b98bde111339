"""A dataset from the Hugging Face hub: the Parquet files of one split, in the hub's own cache."""

import re
from collections.abc import Sequence
from pathlib import Path

from evaluation.data.model import DatasetError
from evaluation.data.tables import split_of

_SOURCE = re.compile(r"([\w][\w.-]{0,95}/[\w][\w.-]{0,95})(?:@([\w][\w./-]{0,127}))?")
_USUAL_SPLIT = "validation"
_LONGEST = 400


def hub_id(source: str) -> tuple[str, str | None] | None:
    """`owner/name` or `owner/name@revision` in its parts; None for anything else."""
    match = _SOURCE.fullmatch(source)
    return (match[1], match[2]) if match and ".." not in source else None


def fetch_split(repository: str, revision: str | None, split: str | None) -> tuple[str, Path, list[Path]]:
    """The split, the folder of the repository, and the split's files, downloaded where they are not yet.

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
    """`split` where it exists; with none named the only one, or `validation`. Raises `DatasetError`."""
    if not splits:
        raise DatasetError(f"{where} holds no Parquet files; CRAG-MM's datasets do.")
    if split is None and len(splits) == 1:
        return splits[0]
    wanted = split or _USUAL_SPLIT
    if wanted not in splits:
        raise DatasetError(f"{where} has no split {wanted!r}; it has {', '.join(sorted(splits))}.")
    return wanted
