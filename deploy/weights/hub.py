"""What is asked of the hub, and what its refusals mean in plain words."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

_ALWAYS = ("*.json", "*.txt", "*.model", "*.jinja")
"""Configurations, vocabularies and chat templates; small."""
_REVISION = "main"


class CannotFetch(Exception):
    """Weights are not there; the text says why and what would help."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """`sha256`: hex; empty for files that git keeps itself, which are small."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One commit of a repository."""

    repository: str
    commit: str
    files: tuple[RemoteFile, ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class Hub:
    """`endpoint`: another hub than the public one, or the client's own choice (`HF_ENDPOINT`)."""

    token: str = ""
    endpoint: str | None = None

    def snapshot(self, repository: str, revision: str, weights: Sequence[str]) -> Snapshot:
        """What to fetch: small files and the weights in the first of the formats `weights`.

        Raises `CannotFetch`.
        """
        with explained(repository, revision):
            info = self._api().model_info(repository, revision=revision or _REVISION, files_metadata=True)
        found = [_remote_file(sibling) for sibling in info.siblings or ()]
        files = chosen(found, weights)
        if not files:
            raise CannotFetch(f"{repository} holds none of {', '.join(weights)}.")
        return Snapshot(repository, str(info.sha), files)

    def download(self, snapshot: Snapshot, folder: Path) -> None:
        """Its files into `folder`, going on where an earlier try stopped. Raises `CannotFetch`."""
        from huggingface_hub import snapshot_download

        with explained(snapshot.repository, snapshot.commit):
            snapshot_download(
                snapshot.repository,
                revision=snapshot.commit,
                local_dir=folder,
                allow_patterns=[file.name for file in snapshot.files],
                token=self.token or False,
                endpoint=self.endpoint,
                max_workers=4,
            )

    def _api(self) -> Any:
        from huggingface_hub import HfApi

        return HfApi(endpoint=self.endpoint, token=self.token or False)


def chosen(files: Sequence[RemoteFile], weights: Sequence[str]) -> tuple[RemoteFile, ...]:
    """Those at the top of the repository that an engine reads; nothing without weights."""
    top = [file for file in files if "/" not in file.name and not file.name.startswith(".")]
    for pattern in weights:
        if found := [file for file in top if fnmatch(file.name, pattern)]:
            small = [file for file in top if any(fnmatch(file.name, kind) for kind in _ALWAYS)]
            return tuple(small + found)
    return ()


def _remote_file(sibling: Any) -> RemoteFile:
    sha256 = sibling.lfs.sha256 if sibling.lfs else ""
    return RemoteFile(sibling.rfilename, int(sibling.size or 0), sha256)


@contextlib.contextmanager
def explained(repository: str, revision: str) -> Iterator[None]:
    """Whatever the client raises becomes `CannotFetch`."""
    import httpx2
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError as error:
        raise CannotFetch(
            f"{repository} is gated: accept its terms at https://huggingface.co/{repository} with the account"
            " of your token, and hand the token over as the secret hf_token, HF_TOKEN_FILE or HF_TOKEN."
        ) from error
    except errors.RevisionNotFoundError as error:
        raise CannotFetch(f"{repository} has no revision {revision!r}.") from error
    except errors.RepositoryNotFoundError as error:
        raise CannotFetch(
            f"{repository} is not on the hub, or private and the token may not see it."
        ) from error
    except (errors.HfHubHTTPError, errors.OfflineModeIsEnabled, httpx2.HTTPError, OSError) as error:
        raise CannotFetch(f"{repository} could not be fetched: {_reason(error)}") from error
    except (ValueError, KeyError) as error:
        raise CannotFetch(
            f"{repository} could not be fetched: what answered does not speak as a hub does."
            " Is there a proxy that asks for a password, or another HF_ENDPOINT?"
        ) from error


def _reason(error: Exception) -> str:
    """What went wrong, and what would help."""
    status = getattr(getattr(error, "response", None), "status_code", 0)
    if status in (401, 403):
        return f"the hub refuses this token ({status}): it is wrong, has run out, or may not read this."
    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    return f"{reason}. Run it again: it goes on from here."
