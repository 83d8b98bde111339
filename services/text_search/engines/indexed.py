"""An index of passages: BM25, the vectors of an encoder, or both fused by reciprocal rank."""

from collections.abc import Mapping, Sequence

from chassis.errors import CorruptImage, ImageTooLarge, UnsupportedImage
from chassis.images import ImageLimits, clean_image
from chassis.json_text import sendable
from chassis.models.cancellation import until_cancelled
from chassis.vectors.port import (
    KEYWORDS,
    RANK_CONSTANT,
    CollectionSchema,
    Prefetch,
    SparseVector,
    VectorStore,
)
from services.text_search.engine import Candidate, FusedHit, Passage, SeeingEncoder, TextEncoder, Vector
from services.text_search.lexical import TERMS, passage_weights, query_weights
from services.text_search.pages import OVERFETCH, candidate, fuse, unfit, write_passages

MEANING = "meaning"
"""Name of the dense vector in a collection."""
_DEPTH = 50
"""Passages of each ranking that are fused, at least."""


class IndexedTextSearch:
    """`TextIndex` on a vector store. A sub-query is one query of the store."""

    def __init__(
        self,
        store: VectorStore,
        encoder: TextEncoder | None = None,
        terms: bool = True,
        rank_constant: int = RANK_CONSTANT,
        picture_side: int = 672,
    ) -> None:
        """`encoder` None: BM25 alone. `terms`: use BM25 beside the vectors.

        `rank_constant`: the lower, the more first places count. `picture_side`: pages' pictures are scaled
        down to so many pixels.
        """
        self.store = store
        self._encoder = encoder
        self._uses_terms, self._rank_constant = terms, rank_constant
        self._seeing = encoder if isinstance(encoder, SeeingEncoder) else None
        self._picture_side = picture_side
        self.schema = CollectionSchema(
            dense={MEANING: encoder.size} if encoder else {},
            sparse=(TERMS,) if terms else (),
            keywords=KEYWORDS,
            encoder=encoder.name if encoder else "",
        )

    def search(
        self,
        queries: Sequence[str],
        k: int,
        collection: str,
        depth: int | None = None,
        photo: bytes | None = None,
    ) -> list[FusedHit]:
        self.store.require(collection, self.schema, whole=False)
        vectors = self._query_vectors(list(map(sendable, queries)), photo)
        rankings = [
            self._rank(query, vector, depth or k * OVERFETCH, collection)
            for query, vector in until_cancelled(zip(queries, vectors, strict=True))
        ]
        return fuse(rankings, k)

    def _query_vectors(self, texts: Sequence[str], photo: bytes | None) -> Sequence[Vector | None]:
        if self._encoder is None:
            return [None] * len(texts)
        if photo is not None and self._seeing:
            return self._seeing.queries_about(texts, photo)
        return self._encoder.queries(texts)

    def _rank(self, query: str, vector: Vector | None, limit: int, collection: str) -> list[Candidate]:
        terms = query_weights(query)
        if vector is None:
            points = self.store.search(collection, TERMS, terms, limit)
        else:
            prefetches: list[Prefetch] = [(MEANING, vector.tolist())]
            if self._uses_terms and terms.indices:
                prefetches.append((TERMS, terms))
            depth = max(limit, _DEPTH)
            points = self.store.search_fused(collection, prefetches, limit, depth, self._rank_constant)
        return [candidate(point) for point in points]

    def index(self, collection: str, passages: Sequence[Passage]) -> Mapping[str, str]:
        """See the protocol. Everything is encoded before anything is written."""
        self.store.require(collection, self.schema)
        terms = {passage.id: passage_weights(passage) for passage in passages}
        rejected = {
            passage.id: reason for passage in passages if (reason := unfit(passage, terms[passage.id]))
        }
        pictures = self._clean_pictures(passages, rejected) if self._seeing else {}
        fit = [passage for passage in passages if passage.id not in rejected]
        vectors: dict[str, dict[str, Sequence[float] | SparseVector]] = {
            passage.id: {TERMS: terms[passage.id]} if self._uses_terms else {} for passage in fit
        }
        for passage, meaning in zip(fit, self._passage_vectors(fit, pictures), strict=True):
            if meaning is not None:
                vectors[passage.id][MEANING] = meaning.tolist()
        write_passages(self.store, collection, passages, vectors)
        return rejected

    def _passage_vectors(
        self, passages: Sequence[Passage], pictures: Mapping[bytes | None, bytes]
    ) -> Sequence[Vector | None]:
        if self._encoder is None:
            return [None] * len(passages)
        texts = [_with_title(passage) for passage in passages]
        if self._seeing:
            return self._seeing.passages_with(texts, [pictures.get(each.picture) for each in passages])
        return self._encoder.passages(texts)

    def _clean_pictures(
        self, passages: Sequence[Passage], rejected: dict[str, str]
    ) -> dict[bytes | None, bytes]:
        """Return the JPEG of each picture, of which passages of a page share one; reject what has none."""
        jpegs: dict[bytes | None, bytes] = {}
        for passage in until_cancelled(passages):
            if passage.picture is None or passage.id in rejected or passage.picture in jpegs:
                continue
            try:
                jpegs[passage.picture] = clean_image(passage.picture, ImageLimits(), self._picture_side).jpeg
            except (CorruptImage, ImageTooLarge, UnsupportedImage) as error:
                rejected[passage.id] = error.detail
        return jpegs

    def probe(self) -> None:
        query_weights("Who wrote it?")
        self._query_vectors(["Who wrote it?"], None)
        self.store.collections()


def _with_title(passage: Passage) -> str:
    """Return the text after its title: a passage often names its page's subject only as "it"."""
    if not passage.title or passage.text.startswith(passage.title):
        return passage.text
    return f"{passage.title}\n{passage.text}"
