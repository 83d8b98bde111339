"""Vectors in a Qdrant server or cluster, through qdrant-client."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from chassis.errors import CollectionConflict, CollectionNotFound, DependencyUnavailable
from chassis.vectors.collections import (
    BUILD_BREADTH,
    BUILD_WAIT_S,
    LINKS,
    OVERSAMPLING,
    QUANTILE,
    SEARCH_BREADTH,
    STILL_BUILT,
    Building,
    is_collection_name,
    not_found,
    require_collection_name,
    require_schema,
)
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

COPY_PAGE = 256
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

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


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
        """The server at an address."""
        patient = QdrantClient(url=url, timeout=PATIENT_S, check_compatibility=False)
        return cls(QdrantClient(url=url), patient=patient)

    def create(self, name: str, schema: CollectionSchema, base: str | None = None) -> None:
        """See the port. A copy that a crash cut short is still marked `building` and is made anew.

        Raises `DependencyUnavailable` where a copy takes long: it goes on, and asking again waits for it.
        """
        require_collection_name(name)
        if name in self._aliases():
            raise CollectionConflict(f"{name!r} is an alias.")
        if base is not None:
            self.require(base, schema)
        if self._call(self._client.collection_exists, name):
            self.require(name, schema)
            if _is_ready(self._metadata(name)):
                return
        if base is None:
            self._make(name, schema, base)
        elif not self._copying.wait_for(name, lambda: self._make(name, schema, base)):
            raise DependencyUnavailable(STILL_COPIED)

    def _make(self, name: str, schema: CollectionSchema, base: str | None) -> None:
        if self._call(self._client.collection_exists, name):
            if _is_ready(self._metadata(name)):
                return
            if base is not None and self._grows(name):
                raise DependencyUnavailable(STILL_COPIED)
            self._call(self._client.delete_collection, name)
        self._build(name, schema, base)

    def _grows(self, name: str) -> bool:
        """Return whether another process copies into it."""
        before = self._points(name)
        for _ in range(_STALLED_LOOKS):
            self._pause(_LOOK_S)
            if self._points(name) != before:
                return True
        return False

    def _build(self, name: str, schema: CollectionSchema, base: str | None) -> None:
        self._call(
            self._client.create_collection,
            name,
            vectors_config=dense_params(schema),
            sparse_vectors_config=sparse_params(schema),
            hnsw_config=models.HnswConfigDiff(m=0),  # built once, when everything is written
            metadata={STATE: "building", **_schema_metadata(schema)},
        )
        for keyword in schema.keywords:
            self._call(
                self._client.create_payload_index, name, keyword, models.PayloadSchemaType.KEYWORD, wait=True
            )
        if base is not None:
            for records in self._pages(base, with_vectors=True):
                if self._stopping.is_set():
                    raise DependencyUnavailable("The service ends.")
                copies = [
                    models.PointStruct(id=record.id, vector=record.vector or {}, payload=record.payload)
                    for record in records
                ]
                self._call(self._client.upsert, name, copies, wait=True)
        self._call(
            self._client.update_collection, name, metadata={STATE: "ready", **_schema_metadata(schema)}
        )

    def require(self, name: str, schema: CollectionSchema, *, whole: bool = True) -> None:
        config = self._call(self._client.get_collection, _readable(name)).config
        dense = config.params.vectors if isinstance(config.params.vectors, dict) else {}
        sparse = config.params.sparse_vectors or {}
        metadata = config.metadata or {}
        actual = CollectionSchema(
            dense={vector: each.size for vector, each in dense.items()},
            sparse=tuple(sorted(sparse)),
            idf=tuple(sorted(key for key, each in sparse.items() if each.modifier == models.Modifier.IDF)),
            keywords=tuple(map(str, metadata.get(KEYWORDS, ()))),
            encoder=str(metadata.get(ENCODER, "")),
        )
        ordered = replace(schema, sparse=tuple(sorted(schema.sparse)), idf=tuple(sorted(schema.idf)))
        require_schema(actual, ordered, whole=whole)

    def drop(self, name: str) -> None:
        aliases = self._aliases()
        if name in aliases or name in aliases.values():
            raise CollectionConflict(f"{name!r} is published.")
        if not self._call(self._client.collection_exists, _readable(name)):
            raise not_found(name)
        self._call(self._client.delete_collection, name)

    def publish(self, alias: str, name: str) -> None:
        """See the port. One request deletes and creates the alias, so no reader finds it missing.

        A version is filled without a graph, which every batch would build again, and gets it here.
        """
        require_collection_name(alias)
        aliases = self._aliases()
        if alias not in aliases and self._call(self._client.collection_exists, alias):
            raise CollectionConflict(f"{alias!r} is a collection.")
        if name in aliases or not self._call(self._client.collection_exists, _readable(name)):
            raise not_found(name)
        if name not in aliases.values():  # what readers see is led back to at once
            self._until_built(name)
        changes: list[models.AliasOperations] = []
        if alias in aliases:
            changes.append(models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias)))
        created = models.CreateAlias(collection_name=name, alias_name=alias)
        changes.append(models.CreateAliasOperation(create_alias=created))
        self._call(self._client.update_collection_aliases, changes)

    def build(self, name: str) -> bool:
        """See the port. The server builds the graphs beside what it serves, and says when it is done."""
        described = self._call(self._client.get_collection, _readable(name))
        if described.config.hnsw_config.m == 0:
            graph = models.HnswConfigDiff(m=LINKS, ef_construct=BUILD_BREADTH)
            self._call(self._client.update_collection, name, hnsw_config=graph)
            return False
        if described.status == models.CollectionStatus.RED:
            raise DependencyUnavailable(_RED)
        if described.status == models.CollectionStatus.GREY:
            # So it is after a restart of the server, which waits for an update to go on.
            go_on = models.OptimizersConfigDiff()
            self._call(self._client.update_collection, name, optimizers_config=go_on)
        return described.status == models.CollectionStatus.GREEN

    def finish(self, name: str, parts: Sequence[str]) -> None:
        metadata = {**self._metadata(_readable(name)), FINISHED: list(parts)}
        self._call(self._client.update_collection, name, metadata=metadata)

    def sample(self, name: str, vector: str, count: int) -> list[tuple[str, list[float]]]:
        records, _ = self._call(
            self._client.scroll, _readable(name), limit=count, with_payload=False, with_vectors=[vector]
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
        """See the port. A copy that is not whole is no version yet."""
        aliases = self._aliases()
        names = sorted(each.name for each in self._call(self._client.get_collections).collections)
        described = {name: self._metadata(name) for name in names}
        return [
            CollectionInfo(
                name=name,
                points=self._points(name),
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
            self._call(self._client.upsert, _readable(name), written, wait=True)

    def discard(self, name: str, keyword: str, values: Sequence[str], keep: Sequence[str] = ()) -> None:
        chosen = models.Filter(
            must=conditions({keyword: values}),
            must_not=[models.HasIdCondition(has_id=list(keep))],
        )
        self._call(self._client.delete, _readable(name), models.FilterSelector(filter=chosen), wait=True)

    def missing(self, name: str, ids: Sequence[str]) -> list[str]:
        records = self._call(self._client.retrieve, _readable(name), list(ids), with_payload=False)
        present = {str(record.id) for record in records}
        return [point_id for point_id in ids if point_id not in present]

    def search(
        self,
        name: str,
        vector: str,
        query: Sequence[float] | SparseVector,
        limit: int,
        *,
        exact: bool = False,
    ) -> list[ScoredPoint]:
        params = models.SearchParams(exact=True) if exact else self._params_for(query)
        patience: dict[str, Any] = {"client": self._patient, "timeout": PATIENT_S} if exact else {}
        return self._query(
            name, limit, query=server_vector(query), using=vector, search_params=params, **patience
        )

    def search_fused(
        self,
        name: str,
        prefetches: Sequence[Prefetch],
        limit: int,
        depth: int,
        rank_constant: int = RANK_CONSTANT,
    ) -> list[ScoredPoint]:
        """See the port. The rank constant needs a server of 1.16 or later."""
        fused = self._query(
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
        return in_fused_order(fused)

    def set_payload(self, name: str, keyword: str, value: str, fields: Mapping[str, Any]) -> None:
        chosen = models.Filter(must=conditions({keyword: [value]}))
        self._call(self._client.set_payload, _readable(name), dict(fields), chosen, wait=True)

    def scroll(
        self,
        name: str,
        where: Mapping[str, Sequence[str]] | None = None,
        unless: Mapping[str, Sequence[str]] | None = None,
        fields: Sequence[str] | None = None,
    ) -> Iterator[ScoredPoint]:
        chosen = models.Filter(must=conditions(where), must_not=conditions(unless))
        for records in self._pages(name, with_vectors=False, chosen=chosen, fields=fields):
            for record in records:
                yield ScoredPoint(str(record.id), 0.0, record.payload or {})

    def notes(self) -> list[str]:
        """See the port: a server tells its own operators."""
        return []

    def close(self) -> None:
        self._stopping.set()
        self._copying.close()
        self._client.close()
        self._patient.close()

    def _params_for(self, query: Sequence[float] | SparseVector) -> models.SearchParams | None:
        return None if isinstance(query, SparseVector) else self._params

    def _query(
        self, name: str, limit: int, client: QdrantClient | None = None, **query: Any
    ) -> list[ScoredPoint]:
        search = (client or self._client).query_points
        reply = self._call(search, _readable(name), limit=limit, with_payload=True, **query)
        return [ScoredPoint(str(point.id), point.score, point.payload or {}) for point in reply.points]

    def _pages(
        self,
        name: str,
        *,
        with_vectors: bool,
        chosen: models.Filter | None = None,
        fields: Sequence[str] | None = None,
    ) -> Iterator[list[models.Record]]:
        offset: int | str | uuid.UUID | None = None
        while True:
            records, offset = self._call(
                self._client.scroll,
                _readable(name),
                limit=COPY_PAGE,
                offset=offset,
                scroll_filter=chosen,
                with_payload=True if fields is None else list(fields),
                with_vectors=with_vectors,
            )
            if records:
                yield records
            if offset is None:
                return

    def _aliases(self) -> dict[str, str]:
        described = self._call(self._client.get_aliases).aliases
        return {each.alias_name: each.collection_name for each in described}

    def _points(self, name: str) -> int:
        return self._call(self._client.count, name, exact=True).count

    def _metadata(self, name: str) -> dict[str, Any]:
        return self._call(self._client.get_collection, name).config.metadata or {}

    def _call(
        self, method: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Send a request to Qdrant, and translate its exceptions."""
        try:
            return method(*args, **kwargs)
        except UnexpectedResponse as error:
            if error.status_code == 404:
                raise CollectionNotFound("There is no such collection.") from error
            raise DependencyUnavailable("The vector server refused a request.") from error
        except ResponseHandlingException as error:
            raise DependencyUnavailable("The vector server does not answer.") from error
        except ValueError as error:
            # qdrant-client's local mode raises a bare ValueError where a server answers 404.
            if "not found" in str(error):
                raise CollectionNotFound("There is no such collection.") from error
            raise


def _schema_metadata(schema: CollectionSchema) -> dict[str, Any]:
    return {ENCODER: schema.encoder, KEYWORDS: list(schema.keywords)}


def _is_ready(metadata: Mapping[str, Any]) -> bool:
    return bool(metadata.get(STATE, "ready") == "ready")


def _readable(name: str) -> str:
    if not is_collection_name(name):
        raise not_found(name)
    return name


def dense_params(schema: CollectionSchema) -> dict[str, models.VectorParams]:
    """Return the dense vectors: a byte a number in memory, whole vectors on the disk."""
    quantised = models.ScalarQuantization(
        scalar=models.ScalarQuantizationConfig(
            type=models.ScalarType.INT8, quantile=QUANTILE, always_ram=True
        )
    )
    return {
        name: models.VectorParams(
            size=size,
            distance=models.Distance.COSINE,
            quantization_config=quantised,
            on_disk=True,
        )
        for name, size in schema.dense.items()
    }


def search_params() -> models.SearchParams:
    """Return the search's breadth, and how many of its results are scored again."""
    rescored = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
    return models.SearchParams(hnsw_ef=SEARCH_BREADTH, quantization=rescored)


def sparse_params(schema: CollectionSchema) -> dict[str, models.SparseVectorParams]:
    """Return the sparse vectors, with Qdrant's inverse document frequency if the schema asks for it."""
    return {
        name: models.SparseVectorParams(modifier=models.Modifier.IDF if name in schema.idf else None)
        for name in schema.sparse
    }


def server_vector(vector: Sequence[float] | SparseVector) -> list[float] | models.SparseVector:
    """A vector as qdrant-client sends it."""
    if isinstance(vector, SparseVector):
        return models.SparseVector(indices=list(vector.indices), values=list(vector.values))
    return [float(value) for value in vector]


def conditions(fields: Mapping[str, Sequence[str]] | None) -> list[models.Condition]:
    """Return the conditions that payload fields have one of their values."""
    return [
        models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))
        for key, values in (fields or {}).items()
    ]
