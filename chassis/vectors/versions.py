"""The versions of an embedded store: each is a folder with an Edge shard, opened when it is first used."""

import dataclasses
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import qdrant_edge as edge
import structlog

from chassis.errors import DependencyUnavailable, LoreglassError
from chassis.resilience.deadlines import Clock
from chassis.resilience.room import is_full, storage_full
from chassis.vectors.build_graph import NotBuilt, build_graph
from chassis.vectors.port import CollectionSchema, SparseVector, Vector
from chassis.vectors.rules import (
    BUILD_BREADTH,
    LINKS,
    OVERSAMPLING,
    QUANTILE,
    SEARCH_BREADTH,
    STILL_BUILT,
    is_collection_name,
    not_found,
)

log = structlog.get_logger()

_CLOSED = "Shard is not initialized"
"""Edge's words for a shard that was closed, as one is while its index is built."""
_RETRY_S = 60.0
"""A version that could not be opened is tried again after that."""
_REMEDY = (
    "Go back to the version before it (loreglass index rollback), or index everything again with --replace."
)


@dataclasses.dataclass(slots=True)
class Version:
    """An open shard. Searches need no lock; writes and copies take turns.

    `built`: it was not written to since its index was built. `away`: its points while another process builds
    its index and the shard is closed here.
    """

    folder: Path
    shard: edge.EdgeShard
    schema: CollectionSchema
    built: bool = False
    away: int | None = None
    writing: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    def points(self) -> int:
        """Return the number of its points, also while another process builds its index."""
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

    def build(self, stopping: threading.Event) -> None:
        """Build its index in another process. Raises `DependencyUnavailable`, `StorageFull`.

        Where the shard cannot be opened again, with what Edge raises, the version is of no more use.
        """
        self.away = self.points()
        self.shard.close()
        try:
            build_graph(self.folder / "shard", stopping)
        except NotBuilt as error:
            if is_full(error):
                raise storage_full() from error
            raise DependencyUnavailable("The index of a version could not be built now.") from error
        finally:
            self.shard = edge.EdgeShard.load(str(self.folder / "shard"))
            self.away = None


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
            raise DependencyUnavailable("A file of the index cannot be read.") from error
        raise


class Versions:
    """The folders in `folder`, each opened once. Safe from any thread.

    `is_published`: a published version has its index.
    """

    def __init__(
        self, folder: Path, is_published: Callable[[str], bool], clock: Clock = time.monotonic
    ) -> None:
        self._folder = folder
        self._is_published = is_published
        self._clock = clock
        self._open: dict[str, Version] = {}
        self._faults: dict[str, tuple[LoreglassError, float]] = {}
        self._lock = threading.Lock()

    def exists(self, name: str) -> bool:
        """Return whether there is a folder of this version."""
        return is_collection_name(name) and (self._folder / name).is_dir()

    def get(self, name: str) -> Version:
        """Raises `CollectionNotFound`, or `DependencyUnavailable` if the version cannot be opened."""
        opened = self._open.get(name)
        if opened is not None:
            return opened
        with self._lock:
            if name not in self._open:
                self._open[name] = self._load(name)
            return self._open[name]

    def fault(self, name: str) -> str:
        """Return the reason why the version cannot be opened, and the remedy; empty if it can."""
        if not self.exists(name):
            return f"The index version {name!r} is gone. {_REMEDY}"
        try:
            self.get(name)
        except LoreglassError as error:
            return error.detail
        return ""

    def _load(self, name: str) -> Version:
        if not self.exists(name):
            raise not_found(name)
        fault, failed_at = self._faults.get(name, (None, 0.0))
        if fault is not None and self._clock() < failed_at + _RETRY_S:
            raise fault
        folder = self._folder / name
        try:
            with edge_errors():
                shard = edge.EdgeShard.load(str(folder / "shard"))
                version = Version(folder, shard, _schema(folder), built=self._is_published(name))
        except Exception as error:
            log.error("version_not_opened", version=name, error=str(error))
            fault = DependencyUnavailable(
                f"The index version {name!r} cannot be opened; the service's log says why. {_REMEDY}"
            )
            self._faults[name] = fault, self._clock()
            raise fault from error
        self._faults.pop(name, None)
        return version

    def move(self, name: str, target: Path) -> None:
        """Move a version away. A search that uses it keeps its open files."""
        with self._lock:
            (self._folder / name).rename(target)
            self._open.pop(name, None)
            self._faults.pop(name, None)

    def let_go(self, version: Version) -> None:
        """Open it anew when it is asked for again."""
        with self._lock:
            if self._open.get(version.folder.name) is version:
                del self._open[version.folder.name]

    def close(self) -> None:
        """Close what is open."""
        with self._lock:
            for version in self._open.values():
                with version.writing:
                    version.shard.flush()
                    version.shard.close()
            self._open.clear()


def _schema(folder: Path) -> CollectionSchema:
    stored = json.loads((folder / "schema.json").read_bytes())
    lists = {name: tuple(stored[name]) for name in ("sparse", "keywords")}
    return CollectionSchema(**{**stored, **lists})


def read_aliases(path: Path) -> dict[str, str]:
    """Return alias -> version; nothing where none was written. Raises `DependencyUnavailable`."""
    try:
        aliases: dict[str, str] = json.loads(path.read_bytes())
        if not all(map(is_collection_name, (*aliases.keys(), *aliases.values()))):
            raise ValueError("a name that no collection has")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise DependencyUnavailable(
            f"{path} cannot be read. Restore it from a backup, or delete it and index again with --replace."
        ) from error
    return aliases


def read_finished(path: Path) -> tuple[str, ...]:
    """Return nothing if it was never written, or cannot be read: then every part is indexed again."""
    try:
        return tuple(map(str, json.loads(path.read_bytes())))
    except (OSError, ValueError, TypeError):
        return ()


_FULL_SCAN_KB = 10_000
"""Qdrant's own default: vectors that a filter leaves, in KiB, below which all of them are compared."""


def create_shard(folder: Path, schema: CollectionSchema) -> None:
    """Create an empty shard in an empty folder."""
    dense = {
        name: edge.EdgeVectorParams(
            size,
            edge.Distance.Cosine,
            hnsw_config=edge.HnswIndexConfig(LINKS, BUILD_BREADTH, _FULL_SCAN_KB),
            memory=edge.Memory.Cold,
            quantization_config=edge.ScalarQuantizationConfig(
                edge.ScalarType.Int8, quantile=QUANTILE, memory=edge.Memory.Pinned
            ),
        )
        for name, size in schema.dense.items()
    }
    sparse = {name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf) for name in schema.sparse}
    shard = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=dense, sparse_vectors=sparse))
    for keyword in schema.keywords:
        shard.update(edge.UpdateOperation.create_field_index(keyword, edge.PayloadSchemaType.Keyword))
    shard.flush()
    shard.close()


def search_params() -> edge.SearchParams:
    """Return the search's breadth; of no effect on sparse vectors and segments without an index."""
    rescored = edge.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
    return edge.SearchParams(hnsw_ef=SEARCH_BREADTH, quantization=rescored)


def edge_vector(vector: Vector) -> list[float] | edge.SparseVector:
    """Return the vector as Edge takes it."""
    if isinstance(vector, SparseVector):
        return edge.SparseVector(list(vector.indices), list(vector.values))
    return [float(value) for value in vector]
