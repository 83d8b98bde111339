"""Finds known things by one vector a photo: an encoder's views ask the vector store for their nearest.

Runs without a web framework; the encoder is a model here or on a ready-made server.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from chassis.calibration import LogisticCurve
from chassis.errors import NotSupported
from chassis.models.cancellation import has_time
from chassis.rgb import RGB, probe_picture
from chassis.vectors.port import KEYWORDS, CollectionSchema, ScoredPoint, StoredPoint, VectorStore
from services.image_search.engine import RESERVE_MS, Floats, KnownThing, ThingSeen, replace_photos, thing_at
from services.image_search.engines.views import centres_first

Forward = Callable[[Sequence[RGB]], Sequence[Floats]]
"""Views of one encoder to unit vectors, in order, however many and whosever they are."""
ForwardTexts = Callable[[Sequence[str]], Sequence[Floats]]
"""Texts to unit vectors of the same space."""

VECTOR = "image"
MOST_FETCHED = 4096
_OVER_FETCH = 4
"""Points fetched for each thing that is wanted: several photos of one thing are one hit."""


class ImageEncoder(Protocol):
    """Photos to views, views to vectors; thread-safe."""

    @property
    def name(self) -> str:
        """The model's name; collections of another name hold other vectors."""
        ...

    @property
    def size(self) -> int:
        """Dimensions of a vector."""
        ...

    def views(self, photo: RGB) -> list[RGB]:
        """Return the parts of a photo that are encoded, the centre first."""
        ...

    def forward(self, views: Sequence[RGB]) -> Sequence[Floats]:
        """One unit vector a view."""
        ...


@dataclass(frozen=True, slots=True)
class DenseOptions:
    """The probability by cosine similarity: `1 / (1 + exp(-slope * (cosine - midpoint)))`.

    The midpoint is the published cut-off of CRAG-MM systems (0.725 to 0.75). `text_midpoint`: for a text and
    a picture, which CLIP keeps further apart than two pictures; a choice, not a fit.
    """

    midpoint: float = 0.75
    slope: float = 30.0
    text_midpoint: float = 0.25

    def curves(self) -> tuple[LogisticCurve, LogisticCurve]:
        """Return the curves for a photo and for a text."""
        slope = (self.slope,)
        return (
            LogisticCurve(-self.slope * self.midpoint, slope),
            LogisticCurve(-self.slope * self.text_midpoint, slope),
        )


class DenseImageSearch:
    """`ImageIndex` on the vectors of an encoder. Indexes centre views, searches with all views."""

    def __init__(
        self,
        store: VectorStore,
        encoder: ImageEncoder,
        options: DenseOptions | None = None,
        forward: Forward | None = None,
        forward_texts: ForwardTexts | None = None,
    ) -> None:
        """`forward`: the encoder's, or a batcher around it; `forward_texts` None: no search by text."""
        self.store = store
        self._encoder = encoder
        self._curve, self._text_curve = (options or DenseOptions()).curves()
        self._forward = forward or encoder.forward
        self._forward_texts = forward_texts
        self.name = encoder.name

    @property
    def schema(self) -> CollectionSchema:
        """One dense vector a photo, of this model."""
        return CollectionSchema(dense={VECTOR: self._encoder.size}, keywords=KEYWORDS, encoder=self.name)

    def search(self, photos: Sequence[RGB], limit: int, collection: str) -> list[ThingSeen]:
        """See the protocol. All views go through the model together."""
        self.store.require(collection, self.schema, whole=False)
        views = centres_first([self._encoder.views(photo) for photo in photos])
        if not views or not has_time(RESERVE_MS):
            return []
        vectors = self._forward([view for _, view in views])
        queries = [(photo_index, vector) for (photo_index, _), vector in zip(views, vectors, strict=True)]
        best = self._best(queries, limit, collection)
        return [
            thing_at(hit, self._curve.probability([hit.score]), index, cosine=hit.score)
            for hit, index in best
        ]

    def search_texts(self, texts: Sequence[str], limit: int, collection: str) -> list[ThingSeen]:
        """See the protocol. All texts go through the model together."""
        if self._forward_texts is None:
            raise NotSupported("This engine searches by photos only.")
        self.store.require(collection, self.schema, whole=False)
        if not texts or not has_time(RESERVE_MS):
            return []
        queries = list(enumerate(self._forward_texts(texts)))
        best = self._best(queries, limit, collection)
        likeness = self._text_curve.probability
        return [thing_at(hit, likeness([hit.score]), index, cosine=hit.score) for hit, index in best]

    def _best(
        self, queries: Sequence[tuple[int, Floats]], limit: int, collection: str
    ) -> list[tuple[ScoredPoint, int]]:
        """The nearest points of all vectors, one an entity, with the index of the vector's photo or text."""
        best: dict[str, tuple[ScoredPoint, int]] = {}
        for place, (index, vector) in enumerate(queries):
            if place and not has_time(RESERVE_MS):
                break
            for hit in self._nearest(collection, vector, limit):
                earlier = best.get(_entity(hit))
                if earlier is None or hit.score > earlier[0].score:
                    best[_entity(hit)] = (hit, index)
        return sorted(best.values(), key=lambda each: -each[0].score)[:limit]

    def index(self, collection: str, things: Sequence[KnownThing]) -> dict[str, str]:
        """See the protocol. Every photo that could be decoded has a vector, so none is rejected."""
        self.store.require(collection, self.schema)
        vectors = self.embed([thing.photo for thing in things])
        points = [
            StoredPoint(thing.id, {VECTOR: vector.tolist()}, thing.payload)
            for thing, vector in zip(things, vectors, strict=True)
        ]
        replace_photos(self.store, collection, points)
        return {}

    def embed(self, photos: Sequence[RGB]) -> Floats:
        """See the protocol: the vectors of the centre views."""
        if not photos:
            return np.zeros((0, self._encoder.size), np.float32)
        return np.stack(self._forward([self._encoder.views(photo)[0] for photo in photos]))

    def probe(self) -> None:
        """Encode a drawn pattern, and reach the store."""
        self.embed([probe_picture()])
        self.store.collections()

    def _nearest(self, collection: str, vector: Floats, limit: int) -> list[ScoredPoint]:
        """Enough of the nearest points to name `limit` things, where the collection has as many."""
        query = vector.tolist()
        fetch = limit * _OVER_FETCH
        while True:
            hits = self.store.search(collection, VECTOR, query, fetch)
            if len(hits) < fetch or fetch >= MOST_FETCHED or len(set(map(_entity, hits))) >= limit:
                return hits
            fetch = min(fetch * 4, MOST_FETCHED)


def _entity(hit: ScoredPoint) -> str:
    return str(hit.payload["entity"])
