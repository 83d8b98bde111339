"""One vector for a set of keypoints: VLAD with normalisation per word, then PCA.

Sources: H. Jégou et al., "Aggregating Local Image Descriptors into Compact Codes" (PAMI 2012);
R. Arandjelović and A. Zisserman, "All about VLAD" (CVPR 2013: intra-normalisation, and several VLADs
over parts of a photo to find small things).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from services.image_search.engines.classical.features import Floats, LocalFeatures

Indices = npt.NDArray[np.intp]

FEWEST_KEYPOINTS = 12

WHOLE = (0.0, 0.0, 1.0, 1.0)
PARTS: tuple[tuple[float, float, float, float], ...] = (
    WHOLE,
    *((left, top, left + 0.6, top + 0.6) for top in (0.0, 0.2, 0.4) for left in (0.0, 0.2, 0.4)),
    *((left, top, left + 0.4, top + 0.4) for top in (0.15, 0.45) for left in (0.0, 0.3, 0.6)),
)
"""Parts of a photo (left, top, right, bottom as shares of its sides) that get a vector of their own."""


@dataclass(frozen=True, slots=True, eq=False)
class VladModel:
    """`reduce` (64, 128) and `mean` (128,) shorten descriptors; `words` (k, 64) is the codebook;
    `basis` (d, k * 64) and `centre` (k * 64,) are the PCA of the normalised VLADs.
    """

    mean: Floats
    reduce: Floats
    words: Floats
    centre: Floats
    basis: Floats

    @property
    def size(self) -> int:
        """Length of an encoded vector."""
        return len(self.basis)

    def shorten(self, vectors: Floats) -> Floats:
        """(n, 128) unit descriptors to (n, 64)."""
        short: Floats = (vectors - self.mean) @ self.reduce.T
        return short

    def encode(self, vectors: Floats) -> Floats:
        """The unit vector (d,) of a set of unit descriptors (n, 128)."""
        short = self.shorten(vectors)
        raw = aggregate(short, self.words, nearest_words(short, self.words))
        vector: Floats = self._project(raw[None])[0]
        return vector

    def encode_parts(self, features: LocalFeatures, vectors: Floats) -> Floats:
        """(p, d): the whole photo first, then those parts that have enough keypoints."""
        short = self.shorten(vectors)
        places = features.points / np.array([features.width, features.height], np.float32)
        nearest = nearest_words(short, self.words)
        rows: list[Floats] = []
        for left, top, right, bottom in PARTS:
            inside = (places >= (left, top)).all(axis=1) & (places <= (right, bottom)).all(axis=1)
            if not rows or inside.sum() >= FEWEST_KEYPOINTS:
                rows.append(aggregate(short[inside], self.words, nearest[inside]))
        return self._project(np.stack(rows))

    def _project(self, raw: Floats) -> Floats:
        return normalise((raw - self.centre) @ self.basis.T)


def nearest_words(short: Floats, words: Floats) -> Indices:
    """(n,) the word of each descriptor."""
    distances = (words * words).sum(axis=1)[None] - 2 * short @ words.T
    nearest: Indices = distances.argmin(axis=1)
    return nearest


def aggregate(short: Floats, words: Floats, nearest: Indices) -> Floats:
    """Sum of residuals per word, each word's sum normalised, then the whole; (k * 64,)."""
    members = (nearest[None, :] == np.arange(len(words))[:, None]).astype(np.float32)
    sums = members @ short - members.sum(axis=1, keepdims=True) * words
    whole: Floats = normalise(normalise(sums).reshape(1, -1))[0]
    return whole


def normalise(rows: Floats) -> Floats:
    """Rows of length one; a row of zeros stays."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit: Floats = (rows / np.maximum(lengths, 1e-9)).astype(np.float32)
    return unit
