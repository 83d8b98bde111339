"""Vectors on disk inside the process: one Qdrant Edge shard per collection version.

Layout under the store's folder, which one process at a time may open:

    store.lock
    aliases.json                    alias -> version, replaced atomically
    collections/<version>/schema.json
    collections/<version>/shard/    the Edge shard
"""

import dataclasses
import fcntl
import json
import shutil
import threading
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import qdrant_edge as edge

from chassis.errors import CollectionConflict, CollectionNotFound, DependencyUnavailable
from chassis.vectors.conflicts import require_schema
from chassis.vectors.files import copy_folder, replace_text, sync_folder
from chassis.vectors.names import is_collection_name, not_found, require_collection_name
from chassis.vectors.port import (
    RANK_CONSTANT,
    CollectionInfo,
    CollectionSchema,
    Prefetch,
    ScoredPoint,
    SparseVector,
    StoredPoint,
    in_fused_order,
)

SCROLL_PAGE = 256


@dataclasses.dataclass(frozen=True, slots=True)
class _Version:
    """An open shard. Searches need no lock; writes and copies take turns."""

    folder: Path
    shard: edge.EdgeShard
    schema: CollectionSchema
    writing: threading.Lock


class EdgeStore:
    """`VectorStore` on Qdrant Edge. A version's shard is opened when it is first used."""

    def __init__(self, path: Path) -> None:
        """Open or create the store in `path`. Raises `DependencyUnavailable` when another process has it."""
        self._folder = path / "collections"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock_file = _lock_store(path / "store.lock")
        self._aliases_file = path / "aliases.json"
        self._aliases = _read_aliases(self._aliases_file)
        self._open: dict[str, _Version] = {}
        self._opening = threading.Lock()
        self._changing = threading.Lock()
        for leftover in self._folder.glob(".*"):
            shutil.rmtree(leftover)

    def create(self, name: str, schema: CollectionSchema, base: str | None = None) -> None:
        """See the port. A copy is made beside its place and renamed into it when it is whole."""
        require_collection_name(name)
        with self._changing:
            if name in self._aliases:
                raise CollectionConflict(f"{name!r} is an alias.")
            source = self._version(base) if base is not None else None
            held = self._version(name) if (self._folder / name).is_dir() else None
            for known in (source, held):
                if known is not None:
                    require_schema(known.schema, schema)
            if held is None:
                self._build(name, schema, source)

    def _build(self, name: str, schema: CollectionSchema, source: _Version | None) -> None:
        building = self._folder / f".building-{uuid.uuid4().hex}"
        building.mkdir()
        if source is None:
            (building / "shard").mkdir()
            _create_shard(building / "shard", schema)
        else:
            with source.writing:
                source.shard.flush()
                copy_folder(source.folder / "shard", building / "shard")
        replace_text(building / "schema.json", json.dumps(dataclasses.asdict(schema)))
        building.rename(self._folder / name)
        sync_folder(self._folder)

    def require(self, name: str, schema: CollectionSchema, *, whole: bool = True) -> None:
        """See the port."""
        require_schema(self._version(name).schema, schema, whole=whole)

    def drop(self, name: str) -> None:
        """See the port. A search that is under way keeps the shard's open files and ends well."""
        with self._changing:
            if name in self._aliases or name in self._aliases.values():
                raise CollectionConflict(f"{name!r} is published.")
            if not self._exists(name):
                raise not_found(name)
            trash = self._folder / f".dropped-{uuid.uuid4().hex}"
            with self._opening:
                (self._folder / name).rename(trash)
                self._open.pop(name, None)
            sync_folder(self._folder)
            shutil.rmtree(trash)

    def publish(self, alias: str, name: str) -> None:
        """See the port. The version's segments are optimised first, so that readers get it at its best."""
        require_collection_name(alias)
        with self._changing:
            if self._exists(alias):
                raise CollectionConflict(f"{alias!r} is a collection.")
            if not self._exists(name):
                raise not_found(name)
            version = self._version(name)
            with version.writing:
                version.shard.optimize()
                version.shard.flush()
            aliases = {**self._aliases, alias: name}
            replace_text(self._aliases_file, json.dumps(aliases, indent=2, sort_keys=True))
            self._aliases = aliases

    def collections(self) -> list[CollectionInfo]:
        """See the port. It waits for no copy or publication, so that a health check may call it."""
        aliases = self._aliases
        infos: list[CollectionInfo] = []
        for name in sorted(folder.name for folder in self._folder.iterdir() if self._exists(folder.name)):
            try:
                points = self._version(name).shard.count(edge.CountRequest(exact=True))
            except CollectionNotFound:
                continue  # dropped since the folder was listed
            pointing = tuple(sorted(alias for alias, target in aliases.items() if target == name))
            infos.append(CollectionInfo(name, points, pointing))
        return infos

    def upsert(self, name: str, points: Sequence[StoredPoint]) -> None:
        """See the port."""
        written = [
            edge.Point(
                point.id,
                {vector: _edge_vector(value) for vector, value in point.vectors.items()},
                dict(point.payload),
            )
            for point in points
        ]
        self._update(name, edge.UpdateOperation.upsert_points(written))

    def discard(self, name: str, keyword: str, values: Sequence[str], keep: Sequence[str] = ()) -> None:
        """See the port."""
        chosen = edge.Filter(
            must=[edge.FieldCondition(keyword, match=edge.MatchAny(list(values)))],
            must_not=[edge.HasIdCondition({uuid.UUID(point_id) for point_id in keep})],
        )
        self._update(name, edge.UpdateOperation.delete_points_by_filter(chosen))

    def _update(self, name: str, operation: edge.UpdateOperation) -> None:
        version = self._version(name)
        with version.writing:
            version.shard.update(operation)
            version.shard.flush()

    def missing(self, name: str, ids: Sequence[str]) -> list[str]:
        """See the port."""
        records = self._version(name).shard.retrieve(list(ids), False, False)
        held = {str(record.id) for record in records}
        return [point_id for point_id in ids if point_id not in held]

    def search(
        self, name: str, vector: str, query: Sequence[float] | SparseVector, limit: int
    ) -> list[ScoredPoint]:
        """See the port. Exact until a version has outgrown Edge's indexing threshold, HNSW after that."""
        nearest = edge.Query.Nearest(_edge_vector(query), using=vector)
        request = edge.QueryRequest(limit=limit, query=nearest, with_payload=True)
        return self._query(name, request)

    def search_fused(
        self, name: str, prefetches: Sequence[Prefetch], limit: int, depth: int
    ) -> list[ScoredPoint]:
        """See the port."""
        searches = [
            edge.Prefetch(depth, query=edge.Query.Nearest(_edge_vector(query), using=vector))
            for vector, query in prefetches
        ]
        # Qdrant's ranks begin at 0. Its stubs do not say that an Rrf is a Fusion.
        fusion: Any = edge.Fusion.Rrf(k=RANK_CONSTANT + 1)
        request = edge.QueryRequest(limit=limit, query=fusion, prefetches=searches, with_payload=True)
        return in_fused_order(self._query(name, request))

    def _query(self, name: str, request: edge.QueryRequest) -> list[ScoredPoint]:
        points = self._version(name).shard.query(request)
        return [ScoredPoint(str(point.id), point.score, point.payload or {}) for point in points]

    def scroll(self, name: str) -> Iterator[ScoredPoint]:
        """See the port."""
        shard = self._version(name).shard
        offset = None
        while True:
            page = edge.ScrollRequest(offset=offset, limit=SCROLL_PAGE, with_payload=True)
            records, offset = shard.scroll(page)
            for record in records:
                yield ScoredPoint(str(record.id), 0.0, record.payload or {})
            if offset is None:
                return

    def close(self) -> None:
        """See the port."""
        with self._changing, self._opening:
            for version in self._open.values():
                with version.writing:
                    version.shard.flush()
                    version.shard.close()
            self._open.clear()
            self._lock_file.close()

    def _exists(self, name: str) -> bool:
        return is_collection_name(name) and (self._folder / name).is_dir()

    def _version(self, name: str) -> _Version:
        target = self._aliases.get(name, name)
        opened = self._open.get(target)
        if opened is not None:
            return opened
        with self._opening:
            # Between the two look-ups the alias may have moved and its old version been dropped.
            target = self._aliases.get(name, name)
            if target not in self._open:
                if not self._exists(target):
                    raise not_found(name)
                self._open[target] = _open_version(self._folder / target)
            return self._open[target]


def _lock_store(path: Path) -> IO[str]:
    stream = path.open("a", encoding="utf-8")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        stream.close()
        raise DependencyUnavailable("Another process has this vector store open.") from error
    return stream


def _read_aliases(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    aliases: dict[str, str] = json.loads(path.read_text("utf-8"))
    return aliases


def _open_version(folder: Path) -> _Version:
    stored = json.loads((folder / "schema.json").read_text("utf-8"))
    schema = CollectionSchema(
        dense=stored["dense"],
        sparse=tuple(stored["sparse"]),
        idf=tuple(stored["idf"]),
        keywords=tuple(stored["keywords"]),
        encoder=stored.get("encoder", ""),  # collections of before there were encoders do not have it
    )
    return _Version(folder, edge.EdgeShard.load(str(folder / "shard")), schema, threading.Lock())


def _create_shard(folder: Path, schema: CollectionSchema) -> None:
    dense = {
        name: edge.EdgeVectorParams(size=size, distance=edge.Distance.Cosine)
        for name, size in schema.dense.items()
    }
    sparse = {
        name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf if name in schema.idf else None)
        for name in schema.sparse
    }
    shard = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=dense, sparse_vectors=sparse))
    for keyword in schema.keywords:
        shard.update(edge.UpdateOperation.create_field_index(keyword, edge.PayloadSchemaType.Keyword))
    shard.flush()
    shard.close()


def _edge_vector(vector: Sequence[float] | SparseVector) -> list[float] | edge.SparseVector:
    if isinstance(vector, SparseVector):
        return edge.SparseVector(list(vector.indices), list(vector.values))
    return [float(value) for value in vector]
