"""Vectors in a Qdrant server or cluster, through qdrant-client."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from qdrant_client import QdrantClient, models

from chassis.errors import CollectionConflict, DependencyUnavailable
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
    BUILD_BREADTH,
    BUILD_WAIT_S,
    LINKS,
    STILL_BUILT,
    Building,
    not_found,
    require_collection_name,
    require_schema,
)
from chassis.vectors.server_client import (
    call,
    conditions,
    count_points,
    dense_params,
    query_points,
    read_aliases,
    read_metadata,
    read_pages,
    readable,
    search_params,
    server_vector,
)

_LOOK_S = 1.0
PATIENT_S = 120
"""An exact search may read every whole vector from the disk."""
_STALLED_LOOKS = 30
"""A copy that has not grown for so many looks is nobody's."""
STILL_COPIED = "The version is still a copy in the making: ask again."
_RED = (
    "The vector server reports that it cannot build the index of the version (status red): see its log, free"
    " what it lacks, restart it, and publish again."
)
STATE = "loreglass_state"
"""Metadata key of a collection: `building` until it is a whole copy of its base, then `ready`."""
ENCODER = "loreglass_encoder"
"""Metadata key of a collection: the schema's `encoder`."""
KEYWORDS = "loreglass_keywords"
"""Metadata key of a collection: the schema's `keywords`."""
FINISHED = "loreglass_finished"
"""Metadata key of a collection: the parts of its input that are in it whole."""


class ServerStore:
    """`VectorStore` on a Qdrant server, with its native aliases.

    `patient`: a client that waits for exact searches; `client` where there is none.
    """

    def __init__(
        self,
        client: QdrantClient,
        pause: Callable[[float], None] = time.sleep,
        patient: QdrantClient | None = None,
        copying: Building | None = None,
    ) -> None:
        self._client = client
        self._params = search_params()
        self._pause = pause
        self._patient = patient or client
        self._copying = copying or Building()
        self._stopping = threading.Event()

    @classmethod
    def at(cls, url: str) -> "ServerStore":
        """Return the store on the server at an address."""
        patient = QdrantClient(url=url, timeout=PATIENT_S, check_compatibility=False)
        return cls(QdrantClient(url=url), patient=patient)

    def create(self, name: str, schema: CollectionSchema, base: str | None = None) -> None:
        """Create the collection. A copy that a crash interrupted is marked `building` and is made anew.

        Raises `DependencyUnavailable` if a copy takes long. It continues, and the next call waits for it.
        """
        require_collection_name(name)
        if name in read_aliases(self._client):
            raise CollectionConflict(f"{name!r} is an alias.")
        if base is not None:
            self.require(base, schema)
        if call(self._client.collection_exists, name):
            self.require(name, schema)
            if _is_ready(read_metadata(self._client, name)):
                return
        if base is None:
            self._make(name, schema, base)
        elif not self._copying.wait_for(name, lambda: self._make(name, schema, base)):
            raise DependencyUnavailable(STILL_COPIED)

    def _make(self, name: str, schema: CollectionSchema, base: str | None) -> None:
        if call(self._client.collection_exists, name):
            if _is_ready(read_metadata(self._client, name)):
                return
            if base is not None and self._grows(name):
                raise DependencyUnavailable(STILL_COPIED)
            call(self._client.delete_collection, name)
        self._build(name, schema, base)

    def _grows(self, name: str) -> bool:
        """Return whether another process copies into it."""
        before = count_points(self._client, name)
        for _ in range(_STALLED_LOOKS):
            self._pause(_LOOK_S)
            if count_points(self._client, name) != before:
                return True
        return False

    def _build(self, name: str, schema: CollectionSchema, base: str | None) -> None:
        call(
            self._client.create_collection,
            name,
            vectors_config=dense_params(schema),
            sparse_vectors_config={
                name: models.SparseVectorParams(modifier=models.Modifier.IDF) for name in schema.sparse
            },
            hnsw_config=models.HnswConfigDiff(m=0),  # built once, when everything is written
            metadata={STATE: "building", **_schema_metadata(schema)},
        )
        for keyword in schema.keywords:
            call(
                self._client.create_payload_index, name, keyword, models.PayloadSchemaType.KEYWORD, wait=True
            )
        if base is not None:
            for records in read_pages(self._client, base, with_vectors=True):
                if self._stopping.is_set():
                    raise DependencyUnavailable("The service ends.")
                copies = [
                    models.PointStruct(id=record.id, vector=record.vector or {}, payload=record.payload)
                    for record in records
                ]
                call(self._client.upsert, name, copies, wait=True)
        call(self._client.update_collection, name, metadata={STATE: "ready", **_schema_metadata(schema)})

    def require(self, name: str, schema: CollectionSchema, *, whole: bool = True) -> None:
        config = call(self._client.get_collection, readable(name)).config
        dense = config.params.vectors if isinstance(config.params.vectors, dict) else {}
        sparse = config.params.sparse_vectors or {}
        metadata = config.metadata or {}
        actual = CollectionSchema(
            dense={vector: each.size for vector, each in dense.items()},
            sparse=tuple(sorted(key for key, each in sparse.items() if each.modifier == models.Modifier.IDF)),
            keywords=tuple(map(str, metadata.get(KEYWORDS, ()))),
            encoder=str(metadata.get(ENCODER, "")),
        )
        require_schema(actual, replace(schema, sparse=tuple(sorted(schema.sparse))), whole=whole)

    def drop(self, name: str) -> None:
        aliases = read_aliases(self._client)
        if name in aliases or name in aliases.values():
            raise CollectionConflict(f"{name!r} is published.")
        if not call(self._client.collection_exists, readable(name)):
            raise not_found(name)
        call(self._client.delete_collection, name)

    def publish(self, alias: str, name: str) -> None:
        """Build the graph, then move the alias in one request, so that no reader finds it missing.

        A version is filled without a graph, because every batch would build it again.
        """
        require_collection_name(alias)
        aliases = read_aliases(self._client)
        if alias not in aliases and call(self._client.collection_exists, alias):
            raise CollectionConflict(f"{alias!r} is a collection.")
        if name in aliases or not call(self._client.collection_exists, readable(name)):
            raise not_found(name)
        if name not in aliases.values():  # what readers see is led back to at once
            self._until_built(name)
        changes: list[models.AliasOperations] = []
        if alias in aliases:
            changes.append(models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias)))
        created = models.CreateAlias(collection_name=name, alias_name=alias)
        changes.append(models.CreateAliasOperation(create_alias=created))
        call(self._client.update_collection_aliases, changes)

    def build(self, name: str) -> bool:
        """Have the server build the graphs while it serves, and return whether it is done."""
        described = call(self._client.get_collection, readable(name))
        if described.config.hnsw_config.m == 0:
            graph = models.HnswConfigDiff(m=LINKS, ef_construct=BUILD_BREADTH)
            call(self._client.update_collection, name, hnsw_config=graph)
            return False
        if described.status == models.CollectionStatus.RED:
            raise DependencyUnavailable(_RED)
        if described.status == models.CollectionStatus.GREY:
            # So it is after a restart of the server, which waits for an update to go on.
            go_on = models.OptimizersConfigDiff()
            call(self._client.update_collection, name, optimizers_config=go_on)
        return described.status == models.CollectionStatus.GREEN

    def finish(self, name: str, parts: Sequence[str]) -> None:
        metadata = {**read_metadata(self._client, readable(name)), FINISHED: list(parts)}
        call(self._client.update_collection, name, metadata=metadata)

    def sample(self, name: str, vector: str, count: int) -> list[tuple[str, list[float]]]:
        records, _ = call(
            self._client.scroll, readable(name), limit=count, with_payload=False, with_vectors=[vector]
        )
        points: list[Any] = records  # a collection of ours names its vectors
        return [(str(record.id), list(map(float, record.vector[vector]))) for record in points]

    def _until_built(self, name: str) -> None:
        for _ in range(round(BUILD_WAIT_S / _LOOK_S)):
            if self.build(name):
                return
            self._pause(_LOOK_S)
        raise DependencyUnavailable(STILL_BUILT)

    def collections(self) -> list[CollectionInfo]:
        """List the versions, without incomplete copies."""
        aliases = read_aliases(self._client)
        names = sorted(each.name for each in call(self._client.get_collections).collections)
        described = {name: read_metadata(self._client, name) for name in names}
        return [
            CollectionInfo(
                name=name,
                points=count_points(self._client, name),
                aliases=tuple(sorted(alias for alias, target in aliases.items() if target == name)),
                finished=tuple(map(str, metadata.get(FINISHED, ()))),
            )
            for name, metadata in described.items()
            if _is_ready(metadata)
        ]

    def upsert(self, name: str, points: Sequence[StoredPoint]) -> None:
        written = [
            models.PointStruct(
                id=point.id,
                vector={vector: server_vector(value) for vector, value in point.vectors.items()},
                payload=dict(point.payload),
            )
            for point in points
        ]
        if written:  # a server refuses an empty update
            call(self._client.upsert, readable(name), written, wait=True)

    def discard(self, name: str, keyword: str, values: Sequence[str], keep: Sequence[str] = ()) -> None:
        chosen = models.Filter(
            must=conditions({keyword: values}),
            must_not=[models.HasIdCondition(has_id=list(keep))],
        )
        call(self._client.delete, readable(name), models.FilterSelector(filter=chosen), wait=True)

    def missing(self, name: str, ids: Sequence[str]) -> list[str]:
        records = call(self._client.retrieve, readable(name), list(ids), with_payload=False)
        present = {str(record.id) for record in records}
        return [point_id for point_id in ids if point_id not in present]

    def search(
        self, name: str, vector: str, query: Vector, limit: int, *, exact: bool = False
    ) -> list[ScoredPoint]:
        params = models.SearchParams(exact=True) if exact else self._params_for(query)
        client, timeout = (self._patient, PATIENT_S) if exact else (self._client, None)
        return query_points(
            client,
            name,
            limit,
            query=server_vector(query),
            using=vector,
            search_params=params,
            timeout=timeout,
        )

    def search_fused(
        self, name: str, prefetches: Sequence[Prefetch], limit: int, depth: int, rank_constant: int
    ) -> list[ScoredPoint]:
        """Search by several vectors. The rank constant needs Qdrant 1.16 or later."""
        fused = query_points(
            self._client,
            name,
            limit,
            prefetch=[
                models.Prefetch(
                    query=server_vector(query),
                    using=vector,
                    limit=depth,
                    params=self._params_for(query),
                )
                for vector, query in prefetches
            ],
            query=models.RrfQuery(rrf=models.Rrf(k=rank_constant + 1)),  # Qdrant's ranks begin at 0
        )
        return sort_fused(fused)

    def set_payload(self, name: str, keyword: str, value: str, fields: Mapping[str, Any]) -> None:
        chosen = models.Filter(must=conditions({keyword: [value]}))
        call(self._client.set_payload, readable(name), dict(fields), chosen, wait=True)

    def scroll(
        self,
        name: str,
        where: Fields | None = None,
        unless: Fields | None = None,
        fields: Sequence[str] | None = None,
    ) -> Iterator[ScoredPoint]:
        chosen = models.Filter(must=conditions(where or {}), must_not=conditions(unless or {}))
        for records in read_pages(self._client, name, with_vectors=False, chosen=chosen, fields=fields):
            for record in records:
                yield ScoredPoint(str(record.id), 0.0, record.payload or {})

    def notes(self) -> list[str]:
        """Return nothing: the server reports to its own operators."""
        return []

    def close(self) -> None:
        self._stopping.set()
        self._copying.close()
        self._client.close()
        self._patient.close()

    def _params_for(self, query: Vector) -> models.SearchParams | None:
        return None if isinstance(query, SparseVector) else self._params


def _schema_metadata(schema: CollectionSchema) -> dict[str, Any]:
    return {ENCODER: schema.encoder, KEYWORDS: list(schema.keywords)}


def _is_ready(metadata: Mapping[str, Any]) -> bool:
    return bool(metadata.get(STATE, "ready") == "ready")
