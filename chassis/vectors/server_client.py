"""A Qdrant server's calls: its errors as ours, and our vectors, schemas and filters as its models."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec, TypeVar

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from chassis.errors import CollectionNotFound, DependencyUnavailable
from chassis.vectors.port import CollectionSchema, Fields, ScoredPoint, SparseVector, Vector
from chassis.vectors.rules import OVERSAMPLING, QUANTILE, SEARCH_BREADTH, is_collection_name, not_found

_PAGE = 256

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def call(method: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    """Call a method of a client, and translate its exceptions."""
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


def read_aliases(client: QdrantClient) -> dict[str, str]:
    """Return alias -> collection."""
    described = call(client.get_aliases).aliases
    return {each.alias_name: each.collection_name for each in described}


def count_points(client: QdrantClient, name: str) -> int:
    """Return the number of points."""
    return call(client.count, name, exact=True).count


def read_metadata(client: QdrantClient, name: str) -> dict[str, Any]:
    """Return what was stored beside the collection."""
    return call(client.get_collection, name).config.metadata or {}


def query_points(client: QdrantClient, name: str, limit: int, **query: Any) -> list[ScoredPoint]:
    """Return the results of a query, as the server orders them."""
    reply = call(client.query_points, readable(name), limit=limit, with_payload=True, **query)
    return [ScoredPoint(str(point.id), point.score, point.payload or {}) for point in reply.points]


def read_pages(
    client: QdrantClient,
    name: str,
    *,
    with_vectors: bool,
    chosen: models.Filter | None = None,
    fields: Sequence[str] | None = None,
) -> Iterator[list[models.Record]]:
    """Yield the points in pages, in id order."""
    offset: int | str | uuid.UUID | None = None
    while True:
        records, offset = call(
            client.scroll,
            readable(name),
            limit=_PAGE,
            offset=offset,
            scroll_filter=chosen,
            with_payload=True if fields is None else list(fields),
            with_vectors=with_vectors,
        )
        if records:
            yield records
        if offset is None:
            return


def readable(name: str) -> str:
    """Return the name of a collection or alias. Raises `CollectionNotFound` for one that cannot be."""
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


def server_vector(vector: Vector) -> list[float] | models.SparseVector:
    """A vector as qdrant-client sends it."""
    if isinstance(vector, SparseVector):
        return models.SparseVector(indices=list(vector.indices), values=list(vector.values))
    return [float(value) for value in vector]


def conditions(fields: Fields) -> list[models.Condition]:
    """Return the conditions that payload fields have one of their values."""
    return [
        models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))
        for key, values in fields.items()
    ]
