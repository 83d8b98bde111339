"""Conversions between our vectors and a Qdrant server's models."""

from collections.abc import Mapping, Sequence

from qdrant_client import models

from chassis.vectors.building import OVERSAMPLING, QUANTILE, SEARCH_BREADTH
from chassis.vectors.port import CollectionSchema, SparseVector


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
