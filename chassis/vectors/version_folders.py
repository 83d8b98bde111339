"""The folders of an embedded store's versions: opened when they are whole, set aside when they are not."""

import dataclasses
import errno
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import qdrant_edge as edge
import structlog

from chassis.errors import DependencyUnavailable, LoreglassError
from chassis.resilience.room import MIB, Room, is_full, storage_full
from chassis.vectors.build_graph import NotBuilt, build_graph
from chassis.vectors.checked import Damaged, read_checked, write_checked
from chassis.vectors.dense_index import STILL_BUILT
from chassis.vectors.files import sync_folder
from chassis.vectors.port import CollectionSchema
from chassis.vectors.seal import WAL, engine_version, read_seal, write_seal
from chassis.vectors.try_shard import Prevented, Unreadable, is_of_the_system, readable_points

log = structlog.get_logger()

_REASON = "reason.json"
_UNREADABLE = frozenset({errno.EIO, errno.EBADMSG, errno.ENOENT, errno.ENOTDIR, errno.EISDIR})
"""Errors of the disk or of what lies on it; others (permission, memory, open files) pass."""
_CLOSED = "Shard is not initialized"
"""Edge's words for a shard that was closed, as one is while its index is built."""
_LEAST_FREE = 8 * MIB
"""With less, what cannot be opened may be whole."""


@dataclasses.dataclass(slots=True)
class Version:
    """An open shard. Searches need no lock; writes and copies take turns.

    `sealed`: it was not written to since it was published; `built`: since its index was built. `compared`: so
    were its contents. `away`: its points while another process builds its index and the shard is closed here.
    """

    folder: Path
    shard: edge.EdgeShard
    schema: CollectionSchema
    sealed: bool
    compared: bool = True
    built: bool = False
    away: int | None = None
    writing: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def points(self) -> int:
        """How many it holds, also while another process builds its index."""
        away = self.away
        if away is not None:
            return away
        try:
            with edge_errors():
                return self.shard.count(edge.CountRequest(exact=True))
        except DependencyUnavailable:
            away = self.away  # it was closed for that since it was looked at
            if away is None:
                raise
            return away


@contextmanager
def edge_errors() -> Iterator[None]:
    """Edge's panics (no `Exception`s) and full disks, as errors of ours."""
    try:
        yield
    except LoreglassError:
        raise
    except BaseException as error:
        if is_full(error):
            raise storage_full() from error
        if _CLOSED in str(error):
            raise DependencyUnavailable(STILL_BUILT) from error
        if type(error).__module__ == "pyo3_runtime":
            log.error("edge_panicked", error=str(error))
            raise DependencyUnavailable(
                "A file of the index cannot be read; a restart of the service sets it aside."
            ) from error
        raise


@contextmanager
def opening_errors() -> Iterator[None]:
    """Around reading a version: `Damaged` for a disk that cannot read it, else `DependencyUnavailable`."""
    try:
        with edge_errors():
            yield
    except (LoreglassError, Damaged):
        raise
    except OSError as error:
        if error.errno in _UNREADABLE:
            raise Damaged(f"a file cannot be read: {error.strerror}") from error
        raise DependencyUnavailable(f"A file cannot be read now: {error.strerror}.") from error
    except Exception as error:
        raise DependencyUnavailable("A collection cannot be opened now.") from error


def open_version(
    folder: Path, room: Room, stopping: threading.Event, enough: Callable[[], bool], *, published: bool
) -> Version:
    """Raises `Damaged` for broken files, `DependencyUnavailable` where whole ones cannot be opened now.

    `enough`: whether to stop comparing contents. What is `published` gets a seal of this engine.
    """
    with opening_errors():
        schema, stored = _schema(folder), read_seal(folder)
        if stored is not None and stored.engine == engine_version():
            stored.check_sizes(folder)
            compared = stored.check_contents(folder, enough)
            return Version(folder, _load_sealed(folder), schema, sealed=True, compared=compared)
        _try(folder / "shard", stored.points if stored else 0, room, stopping)
        version = Version(folder, edge.EdgeShard.load(str(folder / "shard")), schema, sealed=False)
        if published:
            _seal_again(version)
        return version


def _seal_again(version: Version) -> None:
    """So that the next start need not try it."""
    try:
        with edge_errors():
            version.shard.flush()
            seal(version)
    except (
        OSError,
        LoreglassError,
    ) as error:  # a disk that takes no more: it is tried at the next start, too
        log.warning("collection_not_sealed", collection=version.folder.name, error=str(error))


def _try(shard: Path, least: int, room: Room, stopping: threading.Event) -> None:
    """Let another process open what no seal vouches for."""
    try:
        points = readable_points(shard, stopping)
    except Prevented as error:
        raise DependencyUnavailable(
            f"A collection may be whole and cannot be opened now: {error}."
        ) from error
    except Unreadable as error:
        if room.free() < _LEAST_FREE:
            raise storage_full() from error
        raise Damaged(str(error)) from error
    if points < least:
        raise Damaged(f"{points} of {least} points are left")


def _load_sealed(folder: Path) -> edge.EdgeShard:
    """A sealed version's files have all that is in its write-ahead log; a broken log goes aside."""
    shard = folder / "shard"
    try:
        return edge.EdgeShard.load(str(shard))
    except BaseException as error:
        if is_of_the_system(str(error)):
            raise
        log.warning("collection_not_opened", collection=folder.name, error=str(error))
    (shard / WAL).rename(folder / f"{WAL}.broken-{_stamp()}")
    return edge.EdgeShard.load(str(shard))


def seal(version: Version) -> None:
    """Vouch for the files of a version that is flushed."""
    points = version.shard.count(edge.CountRequest(exact=True))
    write_seal(version.folder, points)
    version.sealed = True


def build_apart(version: Version, stopping: threading.Event) -> None:
    """Build a flushed version's index in another process. Raises `DependencyUnavailable`, `StorageFull`.

    Where the shard cannot be opened again, with what Edge raises, the version is of no more use.
    """
    version.away = version.points()
    version.shard.close()
    try:
        build_graph(version.folder / "shard", stopping)
    except NotBuilt as error:
        if is_full(error):
            raise storage_full() from error
        raise DependencyUnavailable("The index of a version could not be built now.") from error
    finally:
        version.shard = edge.EdgeShard.load(str(version.folder / "shard"))
        version.away = None


def _schema(folder: Path) -> CollectionSchema:
    try:
        stored = json.loads((folder / "schema.json").read_bytes())
        return CollectionSchema(
            dense=stored["dense"],
            sparse=tuple(stored["sparse"]),
            idf=tuple(stored["idf"]),
            keywords=tuple(stored["keywords"]),
            encoder=stored.get("encoder", ""),  # collections of before there were encoders do not have it
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        raise Damaged("schema.json cannot be read") from error


class SetAside:
    """Where broken versions are kept, in folders named by them and the time. Nothing here is ever deleted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, path: Path, reason: str) -> bool:
        """Move a file or a folder here. False where that cannot be: it stays, and is not used."""
        try:
            self._take(path, reason)
        except OSError as error:
            log.error("not_set_aside", name=path.name, reason=reason, error=error.strerror)
            return False
        return True

    def _take(self, path: Path, reason: str) -> None:
        self._folder.mkdir(exist_ok=True)
        place = self._folder / f"{path.name}.{_stamp()}"
        place.mkdir()
        path.rename(place / path.name)
        for changed in (place, self._folder, path.parent):
            sync_folder(changed)
        log.error("set_aside", name=path.name, reason=reason)
        try:
            write_checked(place / _REASON, {"name": path.name, "reason": reason})
        except OSError as error:  # a full disk: the name and the log tell enough
            log.warning("reason_not_kept", error=error.strerror)

    def notes(self) -> list[str]:
        """A sentence for each, the newest first."""
        if not self._folder.is_dir():
            return []
        return [_note(place) for place in sorted(self._folder.iterdir(), key=_time, reverse=True)]


def _time(place: Path) -> str:
    return place.name.rpartition(".")[2]


def _note(place: Path) -> str:
    try:
        stored = read_checked(place / _REASON)
        reason = f" ({stored['reason']})"
    except (OSError, Damaged, KeyError, TypeError):
        reason = ""
    name, _, moment = place.name.rpartition(".")
    return f"{name} was found broken{reason} and set aside as set_aside/{name}.{moment}."


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
