"""One contract, two adapters: Qdrant Edge on disk, and qdrant-client (its local mode stands for a server)."""

import uuid
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient

from chassis.errors import CollectionConflict, CollectionNotFound, InvalidRequest
from chassis.vectors.edge import EdgeStore
from chassis.vectors.port import (
    CollectionSchema,
    Prefetch,
    ScoredPoint,
    SparseVector,
    StoredPoint,
    VectorStore,
    recall,
)
from chassis.vectors.server import ServerStore

SCHEMA = CollectionSchema(dense={"look": 4}, sparse=("terms", "plain"), keywords=("url",))


def point_id(number: int) -> str:
    return str(uuid.UUID(int=number))


def point(
    number: int,
    terms: dict[int, float] | None = None,
    url: str = "u",
    look: tuple[float, ...] | None = None,
) -> StoredPoint:
    weights = terms or {1: 1.0}
    sparse = SparseVector(tuple(weights), tuple(weights.values()))
    vectors: dict[str, SparseVector | tuple[float, ...]] = {
        "look": look or (1.0, float(number), 0.0, 0.0),
        "terms": sparse,
        "plain": sparse,
    }
    return StoredPoint(point_id(number), vectors, {"number": number, "url": url})


@pytest.fixture(params=["edge", "server"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    with warnings.catch_warnings():
        # Local mode says that payload indexes have no effect in it; a server has them.
        warnings.filterwarnings("ignore", category=UserWarning, module="qdrant_client")
        is_edge = request.param == "edge"
        opened = EdgeStore(tmp_path / "store") if is_edge else ServerStore(QdrantClient(":memory:"))
    yield opened
    opened.close()


pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning"),
]


def numbers(store: VectorStore, name: str) -> list[int]:
    return [result.payload["number"] for result in store.scroll(name)]


def test_the_nearest_points_come_first_with_their_cosine(store: VectorStore) -> None:
    store.create("v1", SCHEMA)
    store.upsert("v1", [point(number) for number in range(5)])
    match = store.search("v1", "look", np.array([1.0, 0.0, 0.0, 0.0]).tolist(), 2)
    assert [each.payload["number"] for each in match] == [0, 1]
    assert [each.score for each in match] == pytest.approx([1.0, 2**-0.5], abs=1e-5)


def test_a_rare_term_weighs_its_inverse_document_frequency(store: VectorStore) -> None:
    store.create("v1", SCHEMA)
    store.upsert("v1", [point(number, {1: 1.0, 7: 2.0} if number == 3 else {1: 1.0}) for number in range(5)])
    match = store.search("v1", "terms", SparseVector((1, 7), (1.0, 1.0)), 5)
    rare, common = np.log(4.5 / 1.5 + 1), np.log(0.5 / 5.5 + 1)
    assert match[0].payload["number"] == 3
    assert match[0].score == pytest.approx(2 * rare + common, rel=1e-5)
    assert [each.score for each in match[1:]] == pytest.approx([common] * 4, rel=1e-5)


def test_recreated_version_keeps_points_unless_dropped(
    store: VectorStore,
) -> None:
    store.create("v1", SCHEMA)
    store.upsert("v1", [point(2), point(4)])
    store.upsert("v1", [])
    store.create("v1", SCHEMA)
    assert numbers(store, "v1") == [2, 4]
    ids = [point_id(number) for number in (5, 4, 3, 2, 1)]
    assert store.missing("v1", ids) == [point_id(5), point_id(3), point_id(1)]
    assert store.missing("v1", []) == []
    store.drop("v1")
    store.create("v1", SCHEMA)
    assert numbers(store, "v1") == []


def test_copy_starts_with_its_bases_points_and_is_independent(store: VectorStore) -> None:
    store.create("v1", SCHEMA)
    store.upsert("v1", [point(number) for number in range(300)])
    store.publish("pages", "v1")
    store.create("v2", SCHEMA, base="pages")
    store.upsert("v2", [point(300)])
    assert numbers(store, "v1") == list(range(300))
    assert numbers(store, "v2") == list(range(301))
    assert store.search("v2", "look", [1.0, 0.0, 0.0, 0.0], 1)[0].payload["number"] == 0


def test_published_version_cannot_be_dropped(
    store: VectorStore,
) -> None:
    for number, name in enumerate(["v1", "v2"]):
        store.create(name, SCHEMA)
        store.upsert(name, [point(number)])
        store.publish("pages", name)
        assert numbers(store, "pages") == [number]
    infos = {info.name: info.aliases for info in store.collections()}
    assert infos == {"v1": (), "v2": ("pages",)}
    for held in ["v2", "pages"]:
        with pytest.raises(CollectionConflict):
            store.drop(held)
    store.drop("v1")
    assert [info.name for info in store.collections()] == ["v2"]


def test_discard_deletes_by_keyword_except_kept_points(store: VectorStore) -> None:
    store.create("v1", SCHEMA)
    store.upsert("v1", [point(1, url="a"), point(2, url="a"), point(3, url="b"), point(4, url="c")])
    store.discard("v1", "url", ["a", "b"], keep=[point_id(2)])
    assert numbers(store, "v1") == [2, 4]
    assert store.missing("v1", [point_id(1), point_id(2)]) == [point_id(1)]


def test_missing_collection_is_not_found(store: VectorStore) -> None:
    calls: list[Callable[[], object]] = [
        lambda: store.search("none", "look", [1.0, 0.0, 0.0, 0.0], 1),
        lambda: store.search_fused("none", [("look", [1.0, 0.0, 0.0, 0.0])], 1, 1, 60),
        lambda: store.require("none", SCHEMA),
        lambda: store.missing("none", [point_id(1)]),
        lambda: store.upsert("none", [point(1)]),
        lambda: store.discard("none", "url", ["u"]),
        lambda: list(store.scroll("none")),
        lambda: store.publish("pages", "none"),
        lambda: store.drop("none"),
        lambda: store.create("v1", SCHEMA, base="none"),
    ]
    for call in calls:
        with pytest.raises(CollectionNotFound):
            call()
    assert store.collections() == []


@pytest.mark.parametrize("name", ["../v1", "", ".v1", "a/b", "V1", "x" * 64])
def test_a_name_that_is_not_a_plain_word_is_refused(store: VectorStore, name: str) -> None:
    with pytest.raises(InvalidRequest):
        store.create(name, SCHEMA)
    with pytest.raises(CollectionNotFound):
        store.search(name, "look", [1.0, 0.0, 0.0, 0.0], 1)


def test_conflicts_with_an_existing_version_are_refused(store: VectorStore) -> None:
    store.create("v1", SCHEMA)
    store.publish("pages", "v1")
    other = CollectionSchema(dense={"look": 8})
    changes: list[Callable[[], None]] = [
        lambda: store.create("pages", SCHEMA),
        lambda: store.publish("v1", "v1"),
        lambda: store.create("v1", other),
        lambda: store.create("v2", other, base="v1"),
    ]
    for change in changes:
        with pytest.raises(CollectionConflict):
            change()


def ranked_by_hand(rankings: list[list[int]]) -> dict[int, float]:
    """Reciprocal rank fusion as published: 1 / (60 + rank), the best of a ranking having rank 1."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, number in enumerate(ranking, 1):
            scores[number] = scores.get(number, 0.0) + 1 / (60 + rank)
    return scores


def filled(store: VectorStore, points: int) -> None:
    """Points whose dense and sparse vectors would rank them differently."""
    draw = np.random.default_rng(5)
    store.create("v1", SCHEMA)
    for number in range(points):
        terms = sorted(draw.choice(6, 3, replace=False).tolist())
        weights = dict(zip(terms, draw.uniform(0.1, 2.0, 3).tolist(), strict=True))
        store.upsert("v1", [point(number, weights, look=tuple(draw.normal(size=4).tolist()))])


LOOKED_FOR: list[Prefetch] = [
    ("look", [0.3, -1.0, 0.5, 0.2]),
    ("terms", SparseVector((1, 2), (1.0, 1.0))),
    ("plain", SparseVector((3, 4), (1.0, 2.0))),
]


@pytest.mark.parametrize("searches", [1, 2, 3])
def test_fused_scores_equal_reciprocal_rank_fusion(store: VectorStore, searches: int) -> None:
    filled(store, 40)
    searches_made = LOOKED_FOR[:searches]
    rankings = [
        [results.payload["number"] for results in store.search("v1", vector, query, 10)]
        for vector, query in searches_made
    ]
    expected = ranked_by_hand(rankings)
    fused = store.search_fused("v1", searches_made, limit=50, depth=10, rank_constant=60)
    scores = {result.payload["number"]: result.score for result in fused}
    assert scores == pytest.approx(expected, rel=1e-5)
    assert list(scores.values()) == sorted(scores.values(), reverse=True)


OF_BGE = replace(SCHEMA, encoder="bge-large")


@pytest.mark.parametrize(
    ("part", "there"),
    [
        (CollectionSchema(sparse=("terms",), keywords=("url",)), True),
        (CollectionSchema(dense={"look": 4}, encoder="bge-large"), True),
        (CollectionSchema(sparse=("plain",)), True),
        (CollectionSchema(dense={"look": 8}, encoder="bge-large"), False),
        (CollectionSchema(dense={"look": 4}, encoder="gte-large"), False),
        (CollectionSchema(sparse=("words",)), False),
    ],
)
def test_reader_requires_only_its_own_vectors(
    store: VectorStore, part: CollectionSchema, there: bool
) -> None:
    store.create("v1", OF_BGE)
    store.publish("pages", "v1")
    if there:
        store.require("pages", part, whole=False)
    else:
        with pytest.raises(CollectionConflict, match="index it anew"):
            store.require("pages", part, whole=False)
    with pytest.raises(CollectionConflict):
        store.require("v1", part)


def test_another_models_vectors_of_the_same_size_differ_by_name(
    store: VectorStore,
) -> None:
    store.create("v1", OF_BGE)
    store.require("v1", OF_BGE)
    with pytest.raises(CollectionConflict, match="made with bge-large, this service runs gte-large"):
        store.require("v1", replace(SCHEMA, encoder="gte-large"))
    with pytest.raises(CollectionConflict, match="made with bge-large, this service runs without a model"):
        store.create("v2", SCHEMA, base="v1")


def test_finished_parts_are_stored_and_not_copied(store: VectorStore) -> None:
    store.create("v1", SCHEMA)
    store.finish("v1", ["part-0"])
    store.finish("v1", ["part-0", "part-1"])
    store.publish("pages", "v1")
    store.create("v2", SCHEMA, base="pages")
    assert {info.name: info.finished for info in store.collections()} == {
        "v1": ("part-0", "part-1"),
        "v2": (),
    }
    store.finish("v1", [])
    assert store.collections()[0].finished == ()
    assert store.build("v1")


def test_sampled_vectors_are_found_by_exact_search(store: VectorStore) -> None:
    store.create("v1", SCHEMA)
    store.upsert("v1", [point(number) for number in range(50)])
    assert store.build("v1")
    sample = store.sample("v1", "look", 3)
    assert [each for each, _ in sample] == [point_id(number) for number in range(3)]
    assert sample[0][1] == pytest.approx([1.0, 0.0, 0.0, 0.0])
    exact = store.search("v1", "look", sample[1][1], 5, exact=True)
    assert [each.id for each in exact] == [each.id for each in store.search("v1", "look", sample[1][1], 5)]
    assert recall(store, "v1", SCHEMA, 20, 10) == 1.0


def test_recall_is_the_share_of_nearest_points_found() -> None:
    class Forgetful:
        """Finds the odd ones only, unless the search is exact."""

        def sample(self, name: str, vector: str, count: int) -> list[tuple[str, list[float]]]:
            return [(point_id(0), [1.0])]

        def search(
            self, name: str, vector: str, query: Any, limit: int, *, exact: bool = False
        ) -> list[ScoredPoint]:
            results = [ScoredPoint(point_id(each), 1.0 - each / 100, {}) for each in range(100)]
            return [each for each in results if exact or uuid.UUID(each.id).int % 2][:limit]

    forgetful: Any = Forgetful()
    assert recall(forgetful, "v1", CollectionSchema(dense={"look": 1}), 1, 10) == 0.5
