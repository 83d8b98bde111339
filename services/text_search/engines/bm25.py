"""BM25 alone: no model, no download."""

from collections.abc import Mapping, Sequence

from chassis.models.wanted import while_wanted
from chassis.vectors.origin import KEYWORDS
from chassis.vectors.port import CollectionSchema, VectorStore
from services.text_search.engine import Candidate, FusedHit, Passage
from services.text_search.lexical import TERMS, passage_weights, query_weights
from services.text_search.pages import OVERFETCH, candidate, fuse, unfit, write_passages


class Bm25TextSearch:
    """`TextSearchEngine` by BM25. A passage has one sparse vector."""

    schema = CollectionSchema(sparse=(TERMS,), idf=(TERMS,), keywords=KEYWORDS)

    def __init__(self, store: VectorStore) -> None:
        self.store = store

    def search(
        self,
        queries: Sequence[str],
        k: int,
        collection: str,
        depth: int | None = None,
        photo: bytes | None = None,
    ) -> list[FusedHit]:
        """See the protocol."""
        self.store.require(collection, self.schema, whole=False)
        limit = depth or k * OVERFETCH
        return fuse([self._rank(query, limit, collection) for query in while_wanted(queries)], k)

    def _rank(self, query: str, limit: int, collection: str) -> list[Candidate]:
        points = self.store.search(collection, TERMS, query_weights(query), limit)
        return [candidate(point) for point in points]

    def index(self, collection: str, passages: Sequence[Passage]) -> Mapping[str, str]:
        """See the protocol."""
        self.store.require(collection, self.schema)
        rejected: dict[str, str] = {}
        vectors = {}
        for passage in passages:
            terms = passage_weights(passage)
            if reason := unfit(passage, terms):
                rejected[passage.id] = reason
            else:
                vectors[passage.id] = {TERMS: terms}
        write_passages(self.store, collection, passages, vectors)
        return rejected

    def probe(self) -> None:
        """See the protocol."""
        query_weights("Who wrote it?")
        self.store.collections()
