"""A dataset from the Hugging Face hub: the Parquet files of one split, in the hub's own cache."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from evaluation.data.model import DatasetError
from evaluation.data.tables import split_of

_SOURCE = re.compile(r"([\w][\w.-]{0,95}/[\w][\w.-]{0,95})(?:@([\w][\w./-]{0,127}))?")
_USUAL_SPLIT = "validation"


def hub_id(source: str) -> tuple[str, str | None] | None:
    """`owner/name` or `owner/name@revision` in its parts; None for anything else."""
    match = _SOURCE.fullmatch(source)
    return (match[1], match[2]) if match and ".." not in source else None


def fetch_split(repository: str, revision: str | None, split: str | None) -> tuple[str, Path, list[Path]]:
    """The split, the folder of the repository, and the split's files, downloaded where they are not yet.

    Raises `DatasetError`. What was downloaded before is used when the hub cannot be reached.
    """
    try:
        from huggingface_hub import HfApi, snapshot_download
    except ImportError as error:
        raise DatasetError(
            'Datasets of the hub take huggingface-hub: pip install "loreglass[evaluation-data]".'
        ) from error
    with _explained(repository, revision):
        try:
            names = HfApi().list_repo_files(repository, repo_type="dataset", revision=revision)
        except _unreachable() as error:
            folder = _held_before(repository, revision, error)
            names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.parquet"))]
        chosen, files = files_of_split(names, split, repository)
        folder = Path(
            snapshot_download(repository, repo_type="dataset", revision=revision, allow_patterns=list(files))
        )
    return chosen, folder, [folder / name for name in files]


def files_of_split(names: Sequence[str], split: str | None, where: str) -> tuple[str, list[str]]:
    """One split's Parquet files. With none named: the only one there is, or `validation`.

    Raises `DatasetError`, which names the splits.
    """
    splits: dict[str, list[str]] = {}
    for name in sorted(names):
        if name.endswith(".parquet"):
            splits.setdefault(split_of(name), []).append(name)
    chosen = chosen_split(list(splits), split, where)
    return chosen, splits[chosen]


def chosen_split(splits: Sequence[str], split: str | None, where: str) -> str:
    """`split` where it exists; with none named the only one, or `validation`. Raises `DatasetError`."""
    if not splits:
        raise DatasetError(f"{where} holds no Parquet files; CRAG-MM's datasets do.")
    if split is None and len(splits) == 1:
        return splits[0]
    wanted = split or _USUAL_SPLIT
    if wanted not in splits:
        raise DatasetError(f"{where} has no split {wanted!r}; it has {', '.join(sorted(splits))}.")
    return wanted


def _held_before(repository: str, revision: str | None, failure: Exception) -> Path:
    from huggingface_hub import errors, snapshot_download

    try:
        return Path(
            snapshot_download(repository, repo_type="dataset", revision=revision, local_files_only=True)
        )
    except (errors.LocalEntryNotFoundError, OSError, ValueError):
        raise failure from None


def _unreachable() -> tuple[type[Exception], ...]:
    """What the client raises where there is no way to the hub."""
    import httpx2
    from huggingface_hub import errors

    return (errors.OfflineModeIsEnabled, httpx2.TransportError, ConnectionError)


@contextmanager
def _explained(repository: str, revision: str | None) -> Iterator[None]:
    import httpx2
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError as error:
        raise DatasetError(
            f"{repository} is gated: accept its terms at https://huggingface.co/datasets/{repository},"
            " and log in with `hf auth login`."
        ) from error
    except errors.RevisionNotFoundError as error:
        raise DatasetError(f"{repository} has no revision {revision!r}.") from error
    except errors.RepositoryNotFoundError as error:
        raise DatasetError(
            f"{repository} is not on the hub, or private; nor is there such a folder."
        ) from error
    except (
        errors.HfHubHTTPError,
        errors.OfflineModeIsEnabled,
        httpx2.HTTPError,
        OSError,
        ValueError,
    ) as error:
        raise DatasetError(
            f"{repository} could not be fetched ({type(error).__name__}): is there a way to the hub?"
            " A folder with its Parquet files does as well."
        ) from error
