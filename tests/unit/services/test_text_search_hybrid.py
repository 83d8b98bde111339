"""Hybrid text search with a fake encoder."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from chassis.errors import CollectionConflict, DependencyUnavailable
from chassis.models.encoders import shared_sentence_encoder
from chassis.vectors.edge import EdgeStore
from chassis.vectors.port import VectorStore
from services.text_search.engine import Vector
from services.text_search.engines.indexed import IndexedTextSearch
from tests.unit.services.text_search_calls import passage

TOPICS = [
    {"wrote", "author", "pen", "novelist", "writer"},
    {"cost", "price", "euros", "expensive"},
    {"harbour", "ships", "port", "quay"},
    {"soup", "menu", "dish"},
]


class TopicEncoder:
    """A `TextEncoder` that knows four topics by their words; the last number is what all texts share."""

    def __init__(self, name: str = "topics") -> None:
        self.name = name
        self.size = len(TOPICS) + 1
        self.requests: list[list[str]] = []
        self.works = True

    def queries(self, texts: Sequence[str]) -> list[Vector]:
        self.requests.append(list(texts))
        return self.passages(texts)

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        if not self.works:
            raise DependencyUnavailable("The model is gone.")
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        words = set(text.lower().replace(".", "").replace("?", "").split())
        vector = np.array([*(len(words & topic) for topic in TOPICS), 0.1], np.float32)
        unit: Vector = vector / np.linalg.norm(vector)
        return unit


PEN = passage("It comes from the pen of Mira Holm.", title="The Salt Road")
SHIPS = passage("Ships tie up along the quay.", title="Lindvik")
SOUP = passage("Our dish of the day: XR-200 euros.", title="Café Nord")
EVERYTHING = [PEN, SHIPS, SOUP]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    opened = EdgeStore(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def encoder() -> TopicEncoder:
    return TopicEncoder()


@pytest.fixture
def engine(store: VectorStore, encoder: TopicEncoder) -> IndexedTextSearch:
    opened = IndexedTextSearch(store, encoder)
    store.create("v1", opened.schema)
    return opened


def test_dense_and_sparse_search_complement_each_other(engine: IndexedTextSearch) -> None:
    engine.index("v1", EVERYTHING)
    assert engine.search(["which novelist?"], 1, "v1")[0].passage == PEN
    assert IndexedTextSearch(engine.store).search(["which novelist?"], 1, "v1") == []
    assert engine.search(["XR200"], 1, "v1")[0].passage == SOUP
    assert len(engine.search(["?!"], 3, "v1")) == 3


def test_sub_queries_are_encoded_in_one_batch_without_surrogates(
    engine: IndexedTextSearch, encoder: TopicEncoder
) -> None:
    engine.index("v1", EVERYTHING)
    hits = engine.search(["which \ud83d novelist?", "where are the ships?"], 3, "v1")
    assert encoder.requests == [["which ? novelist?", "where are the ships?"]]
    assert {hit.passage.title for hit in hits[:2]} == {"The Salt Road", "Lindvik"}


def test_failed_encoder_leaves_the_index_unchanged(engine: IndexedTextSearch, encoder: TopicEncoder) -> None:
    url = "https://pages.example/book"
    engine.index("v1", [passage("The author is Mira Holm.", url)])
    encoder.works = False
    with pytest.raises(DependencyUnavailable):
        engine.index("v1", [passage("The author is Ada Berg.", url)])
    with pytest.raises(DependencyUnavailable):
        engine.probe()
    encoder.works = True
    assert [hit.passage.text for hit in engine.search(["author"], 5, "v1")] == ["The author is Mira Holm."]


def test_hybrid_index_is_readable_by_either_engine(engine: IndexedTextSearch, encoder: TopicEncoder) -> None:
    engine.index("v1", EVERYTHING)
    dense = IndexedTextSearch(engine.store, encoder, terms=False)
    assert dense.search(["which novelist?"], 1, "v1")[0].passage == PEN
    assert IndexedTextSearch(engine.store).search(["pen"], 1, "v1")[0].passage == PEN
    for part in (dense, IndexedTextSearch(engine.store)):
        with pytest.raises(CollectionConflict):
            part.index("v1", [SHIPS])


def test_builtin_encoder_finds_paraphrases(store: VectorStore) -> None:
    engine = IndexedTextSearch(store, shared_sentence_encoder(), rank_constant=1)
    store.create("v1", engine.schema)
    passages = [
        passage("Its weight is 1.2 kg when empty.", "https://a.example/kettle", "Kettle"),
        passage("How many cats are there? How heavy is the rain?", "https://a.example/how", "Questions"),
        passage("Opened by the mayor.", "https://a.example/hall", "Hall"),
    ]
    assert not engine.index("v1", passages)
    assert engine.search(["How heavy is a kettle?"], 1, "v1")[0].passage.url == "https://a.example/kettle"
