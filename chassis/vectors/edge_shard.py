"""A version's schema and its vectors, as Qdrant Edge names them."""

from collections.abc import Sequence
from pathlib import Path

import qdrant_edge as edge

from chassis.vectors.dense_index import QUANTILE, DenseIndex
from chassis.vectors.port import CollectionSchema, SparseVector

_FULL_SCAN_KB = 10_000
"""Qdrant's own default: vectors that a filter leaves, in KiB, below which all of them are compared."""


def create_shard(folder: Path, schema: CollectionSchema, index: DenseIndex) -> None:
    """An empty shard in an empty folder."""
    dense = {name: _vector_params(size, index) for name, size in schema.dense.items()}
    sparse = {
        name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf if name in schema.idf else None)
        for name in schema.sparse
    }
    shard = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=dense, sparse_vectors=sparse))
    for keyword in schema.keywords:
        shard.update(edge.UpdateOperation.create_field_index(keyword, edge.PayloadSchemaType.Keyword))
    shard.flush()
    shard.close()


def _vector_params(size: int, index: DenseIndex) -> edge.EdgeVectorParams:
    graph = edge.HnswIndexConfig(index.links, index.build_breadth, _FULL_SCAN_KB)
    if not index.quantised:
        return edge.EdgeVectorParams(size, edge.Distance.Cosine, hnsw_config=graph)
    return edge.EdgeVectorParams(
        size,
        edge.Distance.Cosine,
        hnsw_config=graph,
        memory=edge.Memory.Cold,
        quantization_config=edge.ScalarQuantizationConfig(
            edge.ScalarType.Int8, quantile=QUANTILE, memory=edge.Memory.Pinned
        ),
    )


def search_params(index: DenseIndex) -> edge.SearchParams:
    """Of no effect on sparse vectors, and on segments without an index."""
    quantised = edge.QuantizationSearchParams(rescore=True, oversampling=index.oversampling)
    return edge.SearchParams(hnsw_ef=index.search_breadth, quantization=quantised)


def edge_vector(vector: Sequence[float] | SparseVector) -> list[float] | edge.SparseVector:
    """As Edge takes it."""
    if isinstance(vector, SparseVector):
        return edge.SparseVector(list(vector.indices), list(vector.values))
    return [float(value) for value in vector]
