"""CRAG-MM's published image index (Wang et al. 2025): its vectors, one view a photo, `k` counts images."""

import json
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from chassis.calibration import LogisticCurve
from chassis.errors import NotSupported
from chassis.models.cancellation import has_time
from chassis.rgb import RGB, probe_picture
from chassis.vectors.chroma import ChromaIndex, Neighbour
from corpus.values import clean_attributes, clean_markup, web_url
from services.image_search.engine import RESERVE_MS, Floats, ThingSeen
from services.image_search.engines.dense import DenseOptions, Forward, ForwardTexts, ImageEncoder

COLLECTION = "image_embeddings"
_LONGEST_ENTITY, _MOST_ENTITIES, _LONGEST_JSON = 1024, 64, 2**20


class CragMmImageSearch:
    """Searches the published index. A hit is one entity of one image: an entity may come more than once."""

    def __init__(
        self,
        index: ChromaIndex,
        encoder: ImageEncoder,
        options: DenseOptions,
        forward: Forward,
        forward_texts: ForwardTexts | None = None,
    ) -> None:
        """As of `DenseImageSearch`."""
        self._index, self._encoder = index, encoder
        self._forward, self._forward_texts = forward, forward_texts
        self._curve, self._text_curve = options.curves()
        self.name = encoder.name

    def search(self, photos: Sequence[RGB], limit: int, collection: str) -> list[ThingSeen]:
        """Return the entities of the `limit` images that are nearest to the photos' centres."""
        return self._things(self.embed(photos), limit, self._curve) if has_time(RESERVE_MS) else []

    def search_texts(self, texts: Sequence[str], limit: int, collection: str) -> list[ThingSeen]:
        """Return the entities of the `limit` images most like the texts. Raises `NotSupported`."""
        if self._forward_texts is None:
            raise NotSupported("This engine searches by photos only.")
        vectors = self._forward_texts(texts)
        return self._things(vectors, limit, self._text_curve) if has_time(RESERVE_MS) else []

    def embed(self, photos: Sequence[RGB]) -> Floats:
        """Return the vectors of the centre views."""
        return np.stack(self._forward([self._encoder.views(photo)[0] for photo in photos]))

    def probe(self) -> None:
        """Encode a drawn pattern and search for it."""
        self.search([probe_picture()], 1, "")

    def _things(
        self, vectors: Sequence[Floats] | Floats, limit: int, curve: LogisticCurve
    ) -> list[ThingSeen]:
        best: dict[str, tuple[Neighbour, int]] = {}
        for place, vector in enumerate(vectors):
            for image in self._index.nearest(vector, limit):
                if image.id not in best or image.cosine > best[image.id][0].cosine:
                    best[image.id] = (image, place)
        nearest = sorted(best.values(), key=lambda each: -each[0].cosine)[:limit]
        return [
            ThingSeen(
                id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{image.id} {entity}")),
                entity=entity,
                attributes=clean_attributes(info),
                title=entity,
                url=url,
                probability=curve.probability([image.cosine]),
                photo_index=place,
                inliers=None,
                cosine=image.cosine,
            )
            for image, place in nearest
            if (url := web_url(str(image.metadata.get("image_url", "")))).startswith(("http://", "https://"))
            for entity, info in _entities(image)
        ]


def _entities(image: Neighbour) -> Iterator[tuple[str, Any]]:
    """Yield the names in an image and what is known of each."""
    names, info = _json(image, "entities"), _json(image, "info")
    for name in names[:_MOST_ENTITIES] if isinstance(names, list) else [names]:
        entity = clean_markup(name) if isinstance(name, str) else ""
        if entity and len(entity) <= _LONGEST_ENTITY:
            yield entity, info.get(name) if isinstance(info, dict) else None


def _json(image: Neighbour, key: str) -> Any:
    try:
        return json.loads(str(image.metadata.get(key, ""))[:_LONGEST_JSON])
    except (ValueError, RecursionError):
        return None
