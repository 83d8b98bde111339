"""Brings one repository's weights into their folder: whole and checked, or not marked as there."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.weights.catalogue import Weights
from deploy.weights.hub import CannotFetch, Hub, RemoteFile, Snapshot

MARKER = ".complete.json"
REVISIONS = "revisions.json"
_HEADROOM_BYTES = 2**30

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Present:
    """What the marker says of a folder whose files are all there."""

    repository: str
    revision: str
    commit: str
    size: int


def present(weights: Weights, root: Path, revision: str = "") -> Present | None:
    """What is there already, asking nobody: the marker, and every file in its size. No `revision`: any."""
    folder = root / weights.name
    try:
        marker = json.loads((folder / MARKER).read_text())
        sizes: Mapping[str, int] = marker["files"]
        found = Present(weights.repository, marker["revision"], marker["commit"], sum(sizes.values()))
        if marker["repository"] != weights.repository or revision not in ("", found.revision, found.commit):
            return None
        whole = all((folder / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # no marker, an unreadable one, or a file that is gone: fetched anew
    return found if whole else None


def fetch(weights: Weights, root: Path, hub: Hub, revision: str = "", tell: Tell = print) -> Present:
    """Download, check, mark. Raises `CannotFetch`."""
    if already := present(weights, root, revision):
        tell(f"{weights.repository}: there, commit {already.commit[:12]}")
        return already
    folder = root / weights.name
    snapshot = hub.snapshot(weights.repository, revision, weights.files)
    tell(f"{weights.repository}: {snapshot.size / 1e9:.1f} GB to {folder}, commit {snapshot.commit[:12]}")
    _make_room(folder, snapshot)
    (folder / MARKER).unlink(missing_ok=True)
    _drop_cut(folder, snapshot)
    hub.download(snapshot, folder)
    _check(folder, snapshot, tell)
    marker = {
        "repository": snapshot.repository,
        "revision": revision,
        "commit": snapshot.commit,
        "files": {file.name: file.size for file in snapshot.files},
    }
    _write(folder / MARKER, marker)
    return Present(snapshot.repository, revision, snapshot.commit, snapshot.size)


def remember(found: Mapping[str, str], root: Path) -> None:
    """`revisions.json`: repository to commit, so that another node can be given the same ones."""
    path = root / REVISIONS
    known: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    if known | dict(found) != known:
        _write(path, known | dict(found))


def _make_room(folder: Path, snapshot: Snapshot) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise CannotFetch(f"{folder} cannot be written to: {error.strerror}.") from error
    there = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    if free + there < snapshot.size + _HEADROOM_BYTES:
        raise CannotFetch(
            f"{snapshot.repository} takes {snapshot.size / 1e9:.1f} GB, of which {there / 1e9:.1f} are there;"
            f" {folder} has {free / 1e9:.1f} GB free."
        )


def _drop_cut(folder: Path, snapshot: Snapshot) -> None:
    """Files that are not whole: the client takes a file of the commit that it knows for whole, unread."""
    for file in snapshot.files:
        path = folder / file.name
        if path.is_file() and path.stat().st_size != file.size:
            path.unlink()


def _check(folder: Path, snapshot: Snapshot, tell: Tell) -> None:
    """Sizes of all, SHA-256 of those that the hub has one for; a wrong file is deleted."""
    tell(f"{snapshot.repository}: checking")
    for file in snapshot.files:
        path = folder / file.name
        if not _is_right(path, file):
            path.unlink(missing_ok=True)
            raise CannotFetch(f"{snapshot.repository}: {file.name} arrived damaged. Run it again.")


def _is_right(path: Path, file: RemoteFile) -> bool:
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    if not file.sha256:
        return True
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == file.sha256


def _write(path: Path, value: object) -> None:
    """All of it or nothing, also when the power fails."""
    draft = path.with_suffix(".draft")
    with draft.open("w") as file:
        json.dump(value, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
