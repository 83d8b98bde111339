"""Vectors on disk inside the process: one Qdrant Edge shard per collection version.

Layout under the store's folder, which one process at a time may open:

    store.lock
    aliases.json                    alias -> version, replaced atomically
    collections/<version>/schema.json
    collections/<version>/finished.json the parts of its input that are in it whole, where it has parts
    collections/<version>/shard/    the Edge shard
"""

import dataclasses
import fcntl
import json
import shutil
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import qdrant_edge as edge

from chassis.errors import CollectionConflict, CollectionNotFound, DependencyUnavailable, LoreglassError
from chassis.files import replace_text, sync_folder
from chassis.resilience.room import MIB, Room
from chassis.vectors.folders import allocated, copy_folder, sync_tree
from chassis.vectors.port import (
    CollectionInfo,
    CollectionSchema,
    Fields,
    Prefetch,
    ScoredPoint,
    SparseVector,
    StoredPoint,
    Vector,
    sort_fused,
)
from chassis.vectors.rules import (
    STILL_BUILT,
    Building,
    not_found,
    require_collection_name,
    require_schema,
)
from chassis.vectors.versions import (
    Version,
    Versions,
    create_shard,
    edge_errors,
    edge_vector,
    read_aliases,
    read_finished,
    search_params,
)
from contracts.collections import PREVIOUS

FINISHED = "finished.json"
SCROLL_PAGE = 256
GROWTH = 4
"""Bytes on the disk at most for each that is written: the log, the storage, and an index over it."""


class EdgeStore:
    """`VectorStore` on Qdrant Edge. A version's shard is opened when it is first used."""

    def __init__(
        self,
        path: Path,
        room: Room | None = None,
        building: Building | None = None,
    ) -> None:
        """Open or create the store in `path`.

        Raises `DependencyUnavailable` when another process has it, or its aliases cannot be read.
        """
        self._folder = path / "collections"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock_file = _lock_store(path / "store.lock")
        self._room = room or Room(path)
        self._params = search_params()
        self._building = building or Building()
        self._stopping = threading.Event()
        self._changing = threading.Lock()
        self._versions = Versions(self._folder, lambda name: name in self._aliases.values())
        self._alias_file = path / "aliases.json"
        try:
            self._aliases = read_aliases(self._alias_file)
        except DependencyUnavailable:
            self._lock_file.close()
            raise
        for leftover in self._folder.glob(".*"):
            shutil.rmtree(leftover)

    def notes(self) -> list[str]:
        read = {name: alias for alias, name in self._aliases.items() if not alias.endswith(PREVIOUS)}
        notes = [fault for name in read if (fault := self._versions.fault(name))]
        free = self._room.free()
        if free < self._room.reserve:
            notes.append(
                f"The disk of the index has {free // MIB:,} MiB left; nothing is indexed with less than"
                f" {self._room.reserve // MIB:,} MiB. Searches go on."
            )
        return notes

    def create(self, name: str, schema: CollectionSchema, base: str | None = None) -> None:
        """Create the collection. A copy is made beside its place and renamed into it when it is complete.

        A collection that cannot be opened is made anew, and the aliases that point at it are removed.
        """
        require_collection_name(name)
        with self._changing:
            if name in self._aliases:
                raise CollectionConflict(f"{name!r} is an alias.")
            source = self._version(base) if base is not None else None
            broken = self._versions.exists(name) and bool(self._versions.fault(name))
            if broken:
                self._write_aliases({alias: at for alias, at in self._aliases.items() if at != name})
                self._delete(name)
            existing = self._version(name) if self._versions.exists(name) else None
            for version in (source, existing):
                if version is not None:
                    require_schema(version.schema, schema)
            if existing is None:
                self._build(name, schema, source)

    def _build(self, name: str, schema: CollectionSchema, source: Version | None) -> None:
        self._room.require(allocated(source.folder) if source else MIB)
        building = self._folder / f".building-{uuid.uuid4().hex}"
        try:
            with edge_errors():
                self._fill(building, schema, source)
        except Exception:
            shutil.rmtree(building, ignore_errors=True)
            raise
        building.rename(self._folder / name)
        sync_folder(self._folder)

    def _fill(self, building: Path, schema: CollectionSchema, source: Version | None) -> None:
        building.mkdir()
        if source is None:
            (building / "shard").mkdir()
            create_shard(building / "shard", schema)
        else:
            with source.writing:
                source.shard.flush()
                copy_folder(source.folder / "shard", building / "shard")
        replace_text(building / "schema.json", json.dumps(dataclasses.asdict(schema)))

    def require(self, name: str, schema: CollectionSchema, *, whole: bool = True) -> None:
        require_schema(self._version(name).schema, schema, whole=whole)

    def drop(self, name: str) -> None:
        """Delete the collection. A search in progress keeps the shard's open files."""
        with self._changing:
            if name in self._aliases or name in self._aliases.values():
                raise CollectionConflict(f"{name!r} is published.")
            if not self._versions.exists(name):
                raise not_found(name)
            if self._building.is_under_way(name):
                raise DependencyUnavailable(STILL_BUILT)
            self._delete(name)

    def _delete(self, name: str) -> None:
        trash = self._folder / f".dropped-{uuid.uuid4().hex}"
        self._versions.move(name, trash)
        sync_folder(self._folder)
        shutil.rmtree(trash)

    def publish(self, alias: str, name: str) -> None:
        """Build the version's index, then point `alias` at it.

        A version that cannot be opened can still be published as the previous one.
        """
        require_collection_name(alias)
        broken = alias.endswith(PREVIOUS) and bool(self._versions.fault(name))
        if not broken and not self.build(name):
            raise DependencyUnavailable(STILL_BUILT)
        with self._changing:
            if self._versions.exists(alias):
                raise CollectionConflict(f"{alias!r} is a collection.")
            if not self._versions.exists(name):
                raise not_found(name)
            if not broken:
                version = self._version(name)
                with version.writing, edge_errors():
                    self._optimize(version)
                    version.shard.flush()
                    sync_tree(version.folder)
            self._write_aliases({**self._aliases, alias: name})

    def _write_aliases(self, aliases: dict[str, str]) -> None:
        replace_text(self._alias_file, json.dumps(aliases, indent=2, sort_keys=True))
        self._aliases = aliases

    def _optimize(self, version: Version) -> None:
        """Build the index: in another process, unless readers use the version, which then stays open."""
        if version.built:
            return
        self._room.require(allocated(version.folder))
        version.shard.flush()
        if version.folder.name in self._aliases.values():
            version.shard.optimize()
            version.shard.flush()
        else:
            try:
                version.build(self._stopping)
            finally:
                if version.away is not None:  # its shard could not be opened again: the next call tries that
                    self._versions.let_go(version)
        version.built = True

    def build(self, name: str) -> bool:
        """Build the index in a thread of its own."""
        version = self._find(name)
        if version.built:
            return True

        def work() -> None:
            with version.writing, edge_errors():
                self._optimize(version)

        return self._building.wait_for(version.folder.name, work)

    def finish(self, name: str, parts: Sequence[str]) -> None:
        version = self._version(name)
        with version.writing, edge_errors():
            self._room.require(MIB)
            replace_text(version.folder / FINISHED, json.dumps(list(parts)))

    def collections(self) -> list[CollectionInfo]:
        """List the versions. Waits for no copy or publication, so that health checks can call it."""
        aliases = self._aliases
        infos: list[CollectionInfo] = []
        for name in sorted(
            folder.name for folder in self._folder.iterdir() if self._versions.exists(folder.name)
        ):
            pointing = tuple(sorted(alias for alias, target in aliases.items() if target == name))
            try:
                version = self._versions.get(name)
                points = version.points()
            except CollectionNotFound:
                continue  # dropped since the folder was listed
            except LoreglassError as error:
                infos.append(CollectionInfo(name, 0, pointing, fault=error.detail))
            else:
                infos.append(CollectionInfo(name, points, pointing, read_finished(version.folder / FINISHED)))
        return infos

    def upsert(self, name: str, points: Sequence[StoredPoint]) -> None:
        written = [
            edge.Point(
                point.id,
                {vector: edge_vector(value) for vector, value in point.vectors.items()},
                dict(point.payload),
            )
            for point in points
        ]
        self._update(name, edge.UpdateOperation.upsert_points(written), sum(map(_bytes_of, points)))

    def discard(self, name: str, keyword: str, values: Sequence[str], keep: Sequence[str] = ()) -> None:
        chosen = edge.Filter(
            must=_conditions({keyword: values}),
            must_not=[edge.HasIdCondition({uuid.UUID(point_id) for point_id in keep})],
        )
        self._update(name, edge.UpdateOperation.delete_points_by_filter(chosen))

    def _update(self, name: str, operation: edge.UpdateOperation, size: int = 0) -> None:
        version = self._version(name)
        with version.writing, edge_errors():
            self._room.require(GROWTH * size)
            version.built = False
            version.shard.update(operation)
            version.shard.flush()

    def missing(self, name: str, ids: Sequence[str]) -> list[str]:
        with edge_errors():
            records = self._version(name).shard.retrieve(list(ids), False, False)
        present = {str(record.id) for record in records}
        return [point_id for point_id in ids if point_id not in present]

    def sample(self, name: str, vector: str, count: int) -> list[tuple[str, list[float]]]:
        page = edge.ScrollRequest(limit=count, with_payload=False, with_vector=[vector])
        with edge_errors():
            records, _ = self._version(name).shard.scroll(page)
        points: list[Any] = records  # Edge's stubs allow for vectors without names
        return [(str(record.id), list(map(float, record.vector[vector]))) for record in points]

    def search(
        self, name: str, vector: str, query: Vector, limit: int, *, exact: bool = False
    ) -> list[ScoredPoint]:
        """Search exactly below Edge's indexing threshold, by HNSW above it."""
        nearest = edge.Query.Nearest(edge_vector(query), using=vector)
        params = edge.SearchParams(exact=True) if exact else self._params
        request = edge.QueryRequest(limit=limit, query=nearest, with_payload=True, params=params)
        return self._query(name, request)

    def search_fused(
        self, name: str, prefetches: Sequence[Prefetch], limit: int, depth: int, rank_constant: int
    ) -> list[ScoredPoint]:
        searches = [
            edge.Prefetch(
                depth, query=edge.Query.Nearest(edge_vector(query), using=vector), params=self._params
            )
            for vector, query in prefetches
        ]
        # Qdrant's ranks begin at 0. Its stubs do not say that an Rrf is a Fusion.
        fusion: Any = edge.Fusion.Rrf(k=rank_constant + 1)
        request = edge.QueryRequest(limit=limit, query=fusion, prefetches=searches, with_payload=True)
        return sort_fused(self._query(name, request))

    def _query(self, name: str, request: edge.QueryRequest) -> list[ScoredPoint]:
        with edge_errors():
            points = self._version(name).shard.query(request)
        return [ScoredPoint(str(point.id), point.score, point.payload or {}) for point in points]

    def set_payload(self, name: str, keyword: str, value: str, fields: Mapping[str, Any]) -> None:
        chosen = edge.Filter(must=_conditions({keyword: [value]}))
        size = len(json.dumps(dict(fields)))
        self._update(name, edge.UpdateOperation.set_payload_by_filter(chosen, dict(fields)), size)

    def scroll(
        self,
        name: str,
        where: Fields | None = None,
        unless: Fields | None = None,
        fields: Sequence[str] | None = None,
    ) -> Iterator[ScoredPoint]:
        shard = self._version(name).shard
        chosen = (
            edge.Filter(must=_conditions(where), must_not=_conditions(unless)) if where or unless else None
        )
        payload = True if fields is None else list(fields)
        offset = None
        while True:
            page = edge.ScrollRequest(offset=offset, limit=SCROLL_PAGE, filter=chosen, with_payload=payload)
            with edge_errors():
                records, offset = shard.scroll(page)
            for record in records:
                yield ScoredPoint(str(record.id), 0.0, record.payload or {})
            if offset is None:
                return

    def close(self) -> None:
        self._stopping.set()
        self._building.close()
        with self._changing, self._lock_file:
            self._versions.close()

    def _version(self, name: str) -> Version:
        version = self._find(name)
        if version.away is not None:
            raise DependencyUnavailable(STILL_BUILT)
        return version

    def _find(self, name: str) -> Version:
        while True:
            target = self._aliases.get(name, name)
            try:
                return self._versions.get(target)
            except CollectionNotFound:
                # Between the two look-ups the alias may have moved and its old version been dropped.
                if self._aliases.get(name, name) == target:
                    raise not_found(name) from None


def _lock_store(path: Path) -> IO[str]:
    stream = path.open("a", encoding="utf-8")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        stream.close()
        raise DependencyUnavailable("Another process has this vector store open.") from error
    return stream


def _conditions(fields: Fields | None) -> list[Any]:
    return [
        edge.FieldCondition(key, match=edge.MatchAny(list(values))) for key, values in (fields or {}).items()
    ]


def _bytes_of(point: StoredPoint) -> int:
    numbers = sum(
        2 * len(vector.indices) if isinstance(vector, SparseVector) else len(vector)
        for vector in point.vectors.values()
    )
    return 4 * numbers + len(json.dumps(dict(point.payload)))
