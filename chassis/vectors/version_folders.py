"""The folders of an embedded store's versions: opened when they are whole, set aside when they are not."""

import dataclasses
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import qdrant_edge as edge
import structlog

from chassis.errors import DependencyUnavailable, LoreglassError
from chassis.resilience.room import MIB, Room, is_full, storage_full
from chassis.vectors.checked import Damaged, read_checked, write_checked
from chassis.vectors.files import sync_folder
from chassis.vectors.port import CollectionSchema
from chassis.vectors.seal import WAL, engine_version, read_seal, write_seal
from chassis.vectors.try_shard import readable_points

log = structlog.get_logger()

_REASON = "reason.json"
_LEAST_FREE = 8 * MIB
"""With less, what cannot be opened may be whole."""


@dataclasses.dataclass(slots=True)
class Version:
    """An open shard. Searches need no lock; writes and copies take turns.

    `sealed`: it was not written to since it was published.
    """

    folder: Path
    shard: edge.EdgeShard
    schema: CollectionSchema
    sealed: bool
    writing: threading.Lock = dataclasses.field(default_factory=threading.Lock)


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
        if type(error).__module__ == "pyo3_runtime":
            log.error("edge_panicked", error=str(error))
            raise DependencyUnavailable(
                "A file of the index cannot be read; a restart of the service sets it aside."
            ) from error
        raise


def open_version(folder: Path, room: Room) -> Version:
    """Raises `Damaged` for broken files, `DependencyUnavailable` where whole ones cannot be opened now."""
    schema = _schema(folder)
    seal = read_seal(folder)
    if seal is not None and seal.engine == engine_version():
        seal.check(folder)
        shard = _load_sealed(folder)
    else:
        _try(folder / "shard", seal.points if seal else 0, room)
        shard = edge.EdgeShard.load(str(folder / "shard"))
    return Version(folder, shard, schema, sealed=seal is not None and seal.engine == engine_version())


def _try(shard: Path, least: int, room: Room) -> None:
    """Let another process open what no seal vouches for."""
    try:
        points = readable_points(shard)
    except (MemoryError, OSError) as error:
        raise DependencyUnavailable("The system stopped an attempt to open a collection.") from error
    if points is None and room.free() < _LEAST_FREE:
        raise storage_full()
    if points is None or points < least:
        raise Damaged(
            "its files cannot be read" if points is None else f"{points} of {least} points are left"
        )


def _load_sealed(folder: Path) -> edge.EdgeShard:
    """A sealed version's files have all that is in its write-ahead log; a broken log goes aside."""
    shard = folder / "shard"
    try:
        with edge_errors():
            return edge.EdgeShard.load(str(shard))
    except Exception as error:  # noqa: BLE001 - Edge raises nothing narrower
        log.warning("collection_not_opened", collection=folder.name, error=str(error))
    try:
        (shard / WAL).rename(folder / f"{WAL}.broken-{_stamp()}")
        with edge_errors():
            return edge.EdgeShard.load(str(shard))
    except LoreglassError:
        raise
    except Exception as error:
        raise DependencyUnavailable("A collection is whole and cannot be opened now.") from error


def seal(version: Version) -> None:
    """Vouch for the files of a version that is flushed."""
    points = version.shard.count(edge.CountRequest(exact=True))
    write_seal(version.folder, points)
    version.sealed = True


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

    def take(self, path: Path, reason: str) -> None:
        """Move a file or a folder here. Raises `OSError`."""
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
        told = read_checked(place / _REASON)
        reason = f" ({told['reason']})"
    except (FileNotFoundError, NotADirectoryError, Damaged, KeyError, TypeError):
        reason = ""
    name, _, moment = place.name.rpartition(".")
    return f"{name} was found broken{reason} and set aside as set_aside/{name}.{moment}."


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
