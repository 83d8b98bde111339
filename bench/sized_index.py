"""Indexes of a size through the services' own engines, over models that only hand out synthetic vectors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.synthetic_index import BLOCK, Floats, Meanings, Terms, point_id
from chassis.vectors.port import VectorStore
from services.image_search.engine import RGB, KnownThing
from services.image_search.engines.dense import VECTOR, DenseImageSearch
from services.text_search.engine import Passage
from services.text_search.engines.hybrid import MEANING, HybridTextSearch
from services.text_search.lexical import TERMS
from services.text_search.storage import write_passages

ALIAS, QUERIES = "published", 200
_TEXT = "A passage of a page, as long as most are: some seven hundred characters of prose. " * 9
_A_CALL = 250
PASSAGES_A_PAGE = 4


@dataclass
class StandInModel:
    """Hands out the row of `vectors` that a text or a photo names."""

    vectors: Floats
    name: str = "stand-in"

    @property
    def size(self) -> int:
        return int(self.vectors.shape[1])

    def queries(self, texts: Sequence[str]) -> list[Floats]:
        return [self.vectors[int(text.split()[0])] for text in texts]

    def passages(self, texts: Sequence[str]) -> list[Floats]:
        return self.queries(texts)

    def views(self, photo: RGB) -> list[RGB]:
        return [photo]

    def forward(self, views: Sequence[RGB]) -> list[Floats]:
        return [self.vectors[int.from_bytes(view.tobytes(), "little")] for view in views]


def _photo(row: int) -> RGB:
    return np.frombuffer(row.to_bytes(3, "little"), np.uint8).reshape(1, 1, 3)


class _Sized:
    """What an engine writes into."""

    _engine: HybridTextSearch | DenseImageSearch

    @property
    def store(self) -> VectorStore:
        return self._engine.store

    def create(self, version: str) -> None:
        """An empty one."""
        self.store.create(version, self._engine.schema)


class Pages(_Sized):
    """`text_search` with BGE-large's size and BM25, four passages a page."""

    name = "text_search"
    dense = MEANING

    meanings, terms = Meanings(1_024), Terms()

    def __init__(self, store: VectorStore) -> None:
        self._asked = [self.terms.text(words) for words in self.terms.queries(QUERIES)]
        self._engine: HybridTextSearch = HybridTextSearch(store, StandInModel(self.meanings.queries(QUERIES)))

    def fill(self, version: str, number: int, vectors: Floats) -> None:
        sparse = list(self.terms.sparse(self.terms.block(number)))
        for start in range(0, BLOCK, _A_CALL):
            rows = range(start, start + _A_CALL)
            passages = {row: _passage(version, number * BLOCK + row) for row in rows}
            written = {passages[row].id: {MEANING: vectors[row].tolist(), TERMS: sparse[row]} for row in rows}
            write_passages(self.store, version, list(passages.values()), written)

    def ask(self, alias: str, number: int) -> Sequence[str]:
        # The stand-in reads the number; digits are no words of the vocabulary, so BM25 finds nothing by it.
        hits = self._engine.search([f"{number} {self._asked[number]}"], 10, alias)
        return [hit.passage.url for hit in hits]


class Photos(_Sized):
    """`image_search` with the size of CLIP ViT-L/14; two photos of each thing."""

    name = "image_search"
    dense = VECTOR
    meanings, terms = Meanings(768), None

    def __init__(self, store: VectorStore) -> None:
        self._engine: DenseImageSearch = DenseImageSearch(store, StandInModel(self.meanings.queries(QUERIES)))

    def fill(self, version: str, number: int, vectors: Floats) -> None:
        filling = DenseImageSearch(self.store, StandInModel(vectors))
        for start in range(0, BLOCK, _A_CALL):
            rows = range(start, start + _A_CALL)
            filling.index(version, [_thing(version, number * BLOCK + row, row) for row in rows])

    def ask(self, alias: str, number: int) -> Sequence[str]:
        seen = self._engine.search([_photo(number)], 10, alias, lambda: True)
        return [each.url for each in seen]


Sized = Pages | Photos
SERVICES: dict[str, type[Pages] | type[Photos]] = {each.name: each for each in (Pages, Photos)}


def page_url(version: str, number: int) -> str:
    """Whose host is the version, so that an answer tells what it was read from."""
    return f"https://{version}.example/{number}"


def _passage(version: str, number: int) -> Passage:
    page = number // PASSAGES_A_PAGE
    return Passage(
        point_id(number, version),
        page_url(version, page),
        f"Page {page}",
        _TEXT,
        number % PASSAGES_A_PAGE,
    )


def _thing(version: str, number: int, row: int) -> KnownThing:
    thing = number // 2
    return KnownThing(
        point_id(number, version),
        f"Thing {thing}",
        {"height": "330 m"},
        f"Thing {thing}",
        page_url(version, thing),
        _photo(row),
    )
