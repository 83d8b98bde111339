"""Vectors in a Qdrant server or cluster, through qdrant-client."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar, cast

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from chassis.errors import CollectionConflict, CollectionNotFound, DependencyUnavailable
from chassis.resilience.hedging import Hedger
from chassis.vectors.conflicts import require_schema
from chassis.vectors.dense_index import BUILD_WAIT_S, QUANTILE, STILL_BUILT, DenseIndex
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

COPY_PAGE = 256
_LOOK_S = 1.0
STATE = "loreglass_state"
"""Metadata key of a collection: `building` until it is a whole copy of its base, then `ready`."""
ENCODER = "loreglass_encoder"
"""Metadata key of a collection: the schema's `encoder`."""
FINISHED = "loreglass_finished"
"""Metadata key of a collection: the parts of its input that are in it whole."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class ServerStore:
    """`VectorStore` on a Qdrant server, with its native aliases. Searches that take long are sent twice."""

    def __init__(
        self,
        client: QdrantClient,
        hedger: Hedger | None = None,
        dense: DenseIndex | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._hedger = hedger or Hedger("qdrant")
        self._dense = dense or DenseIndex()
        self._params = _search_params(self._dense)
        self._pause = pause

    def create(self, name: str, schema: CollectionSchema, base: str | None = None) -> None:
        """See the port. A copy that a crash cut short is still marked `building` and is made anew."""
        require_collection_name(name)
        if name in self._aliases():
            raise CollectionConflict(f"{name!r} is an alias.")
        if base is not None:
            self.require(base, schema)
        if self._call(self._client.collection_exists, name):
            self.require(name, schema)
            if self._state(name) == "ready":
                return
            self._call(self._client.delete_collection, name)
        self._build(name, schema, base)

    def _build(self, name: str, schema: CollectionSchema, base: str | None) -> None:
        self._call(
            self._client.create_collection,
            name,
            vectors_config=_dense_params(schema, self._dense),
            sparse_vectors_config=_sparse_params(schema),
            hnsw_config=models.HnswConfigDiff(m=0),  # built once, when everything is written
            metadata={STATE: "building", ENCODER: schema.encoder},
        )
        for keyword in schema.keywords:
            self._call(
                self._client.create_payload_index, name, keyword, models.PayloadSchemaType.KEYWORD, wait=True
            )
        if base is not None:
            for records in self._pages(base, with_vectors=True):
                copies = [
                    models.PointStruct(id=record.id, vector=record.vector or {}, payload=record.payload)
                    for record in records
                ]
                self._call(self._client.upsert, name, copies, wait=True)
        finished = {STATE: "ready", ENCODER: schema.encoder}
        self._call(self._client.update_collection, name, metadata=finished)

    def require(self, name: str, schema: CollectionSchema, *, whole: bool = True) -> None:
        """See the port."""
        config = self._call(self._client.get_collection, _readable(name)).config
        dense = config.params.vectors if isinstance(config.params.vectors, dict) else {}
        sparse = config.params.sparse_vectors or {}
        held = CollectionSchema(
            dense={vector: each.size for vector, each in dense.items()},
            sparse=tuple(sorted(sparse)),
            idf=tuple(sorted(key for key, each in sparse.items() if each.modifier == models.Modifier.IDF)),
            keywords=schema.keywords,
            encoder=str((config.metadata or {}).get(ENCODER, "")),
        )
        wanted = replace(schema, sparse=tuple(sorted(schema.sparse)), idf=tuple(sorted(schema.idf)))
        require_schema(held, wanted, whole=whole)

    def drop(self, name: str) -> None:
        """See the port."""
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
            graph = models.HnswConfigDiff(m=self._dense.links, ef_construct=self._dense.build_breadth)
            self._call(self._client.update_collection, name, hnsw_config=graph)
            return False
        return described.status == models.CollectionStatus.GREEN

    def finish(self, name: str, parts: Sequence[str]) -> None:
        """See the port."""
        told = {**self._metadata(_readable(name)), FINISHED: list(parts)}
        self._call(self._client.update_collection, name, metadata=told)

    def sample(self, name: str, vector: str, count: int) -> list[tuple[str, list[float]]]:
        """See the port."""
        records, _ = self._call(
            self._client.scroll, _readable(name), limit=count, with_payload=False, with_vectors=[vector]
        )
        return [(str(record.id), _dense_of(record.vector, vector)) for record in records]

    def _until_built(self, name: str) -> None:
        for _ in range(round(BUILD_WAIT_S / _LOOK_S)):
            if self.build(name):
                return
            self._pause(_LOOK_S)
        raise DependencyUnavailable(STILL_BUILT)

    def collections(self) -> list[CollectionInfo]:
        """See the port."""
        aliases = self._aliases()
        names = sorted(each.name for each in self._call(self._client.get_collections).collections)
        return [
            CollectionInfo(
                name=name,
                points=self._call(self._client.count, name, exact=True).count,
                aliases=tuple(sorted(alias for alias, target in aliases.items() if target == name)),
                finished=tuple(map(str, self._metadata(name).get(FINISHED, ()))),
            )
            for name in names
        ]

    def upsert(self, name: str, points: Sequence[StoredPoint]) -> None:
        """See the port."""
        written = [
            models.PointStruct(
                id=point.id,
                vector={vector: _server_vector(value) for vector, value in point.vectors.items()},
                payload=dict(point.payload),
            )
            for point in points
        ]
        if written:  # a server refuses an empty update
            self._call(self._client.upsert, _readable(name), written, wait=True)

    def discard(self, name: str, keyword: str, values: Sequence[str], keep: Sequence[str] = ()) -> None:
        """See the port."""
        chosen = models.Filter(
            must=[models.FieldCondition(key=keyword, match=models.MatchAny(any=list(values)))],
            must_not=[models.HasIdCondition(has_id=list(keep))],
        )
        self._call(self._client.delete, _readable(name), models.FilterSelector(filter=chosen), wait=True)

    def missing(self, name: str, ids: Sequence[str]) -> list[str]:
        """See the port."""
        records = self._call(self._client.retrieve, _readable(name), list(ids), with_payload=False)
        held = {str(record.id) for record in records}
        return [point_id for point_id in ids if point_id not in held]

    def search(
        self,
        name: str,
        vector: str,
        query: Sequence[float] | SparseVector,
        limit: int,
        *,
        exact: bool = False,
    ) -> list[ScoredPoint]:
        """See the port."""
        params = models.SearchParams(exact=True) if exact else self._params_for(query)
        return self._query(name, limit, query=_server_vector(query), using=vector, search_params=params)

    def search_fused(
        self, name: str, prefetches: Sequence[Prefetch], limit: int, depth: int
    ) -> list[ScoredPoint]:
        """See the port. The rank constant needs a server of 1.16 or later."""
        fused = self._query(
            name,
            limit,
            prefetch=[
                models.Prefetch(
                    query=_server_vector(query),
                    using=vector,
                    limit=depth,
                    params=self._params_for(query),
                )
                for vector, query in prefetches
            ],
            query=models.RrfQuery(rrf=models.Rrf(k=RANK_CONSTANT + 1)),  # Qdrant's ranks begin at 0
        )
        return in_fused_order(fused)

    def scroll(self, name: str) -> Iterator[ScoredPoint]:
        """See the port."""
        for records in self._pages(name, with_vectors=False):
            for record in records:
                yield ScoredPoint(str(record.id), 0.0, record.payload or {})

    def notes(self) -> list[str]:
        """See the port: a server tells its own operators."""
        return []

    def close(self) -> None:
        """See the port."""
        self._hedger.close()
        self._client.close()

    def _params_for(self, query: Sequence[float] | SparseVector) -> models.SearchParams | None:
        return None if isinstance(query, SparseVector) else self._params

    def _query(self, name: str, limit: int, **query: Any) -> list[ScoredPoint]:
        collection = _readable(name)
        reply = self._hedger.read(
            lambda: self._call(self._client.query_points, collection, limit=limit, with_payload=True, **query)
        )
        return _scored(reply)

    def _pages(self, name: str, *, with_vectors: bool) -> Iterator[list[models.Record]]:
        offset: int | str | uuid.UUID | None = None
        while True:
            records, offset = self._call(
                self._client.scroll,
                _readable(name),
                limit=COPY_PAGE,
                offset=offset,
                with_payload=True,
                with_vectors=with_vectors,
            )
            if records:
                yield records
            if offset is None:
                return

    def _aliases(self) -> dict[str, str]:
        described = self._call(self._client.get_aliases).aliases
        return {each.alias_name: each.collection_name for each in described}

    def _state(self, name: str) -> str:
        return str(self._metadata(name).get(STATE, "ready"))

    def _metadata(self, name: str) -> dict[str, Any]:
        return self._call(self._client.get_collection, name).config.metadata or {}

    def _call(
        self, method: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Every request to Qdrant, with its exceptions turned into ours."""
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


def _readable(name: str) -> str:
    if not is_collection_name(name):
        raise not_found(name)
    return name


def _scored(reply: models.QueryResponse) -> list[ScoredPoint]:
    return [ScoredPoint(str(point.id), point.score, point.payload or {}) for point in reply.points]


def _dense_params(schema: CollectionSchema, index: DenseIndex) -> dict[str, models.VectorParams]:
    quantised = models.ScalarQuantization(
        scalar=models.ScalarQuantizationConfig(
            type=models.ScalarType.INT8, quantile=QUANTILE, always_ram=True
        )
    )
    return {
        name: models.VectorParams(
            size=size,
            distance=models.Distance.COSINE,
            quantization_config=quantised if index.quantised else None,
            on_disk=index.quantised,
        )
        for name, size in schema.dense.items()
    }


def _search_params(index: DenseIndex) -> models.SearchParams:
    rescored = models.QuantizationSearchParams(rescore=True, oversampling=index.oversampling)
    return models.SearchParams(hnsw_ef=index.search_breadth, quantization=rescored)


def _sparse_params(schema: CollectionSchema) -> dict[str, models.SparseVectorParams]:
    return {
        name: models.SparseVectorParams(modifier=models.Modifier.IDF if name in schema.idf else None)
        for name in schema.sparse
    }


def _dense_of(vectors: models.VectorStructOutput | None, name: str) -> list[float]:
    assert isinstance(vectors, dict)  # for the type checker: a collection of ours names its vectors
    return list(map(float, cast(list[float], vectors[name])))


def _server_vector(vector: Sequence[float] | SparseVector) -> list[float] | models.SparseVector:
    if isinstance(vector, SparseVector):
        return models.SparseVector(indices=list(vector.indices), values=list(vector.values))
    return [float(value) for value in vector]
