"""Fits the codebook, the PCA and the calibration. Needs scikit-learn, which the service itself does not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from services.image_search.classical.calibration import (
    PRINTED,
    Calibration,
    Logistic,
    geometry_signals,
    print_signals,
)
from services.image_search.classical.features import Floats, LocalFeatures, unit_descriptors
from services.image_search.classical.verification import Evidence, QueryFeatures, verify
from services.image_search.classical.vlad import VladModel, aggregate, nearest_words

SHORT = 64
DESCRIPTORS_PER_PICTURE = 300
RIVAL_SUPPORT = 8
LOOK_ALIKE_WEIGHT = 0.1
"""An index rarely holds a sign in the very typeface and size, or a facade with the very windows."""


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """A picture's features with what training must know of it."""

    thing: str
    family: str
    print_run: str
    catalogue: bool
    features: LocalFeatures


@dataclass(frozen=True, slots=True)
class Pair:
    """A query and a catalogue picture: what they have in common, and whether they show the same thing.

    `siblings`: two things of one family; `shared_print`: parts of them are the same printed matter; `query`
    numbers the photo that was asked about.
    """

    evidence: Evidence
    same: bool
    siblings: bool
    shared_print: bool
    family: str
    query: int


def fit_vlad(pictures: Sequence[Described], words: int, size: int, seed: int) -> VladModel:
    """Codebook of `words` words and PCA to `size` numbers."""
    rng = np.random.default_rng(seed)
    vectors = [unit_descriptors(picture.features.descriptors) for picture in pictures]
    sample = np.concatenate([part[rng.permutation(len(part))[:DESCRIPTORS_PER_PICTURE]] for part in vectors])
    shortening = PCA(SHORT, random_state=seed).fit(sample)
    mean = shortening.mean_.astype(np.float32)
    reduce = shortening.components_.astype(np.float32)
    clusters = MiniBatchKMeans(words, random_state=seed, n_init=3, batch_size=4096)
    codebook = clusters.fit((sample - mean) @ reduce.T).cluster_centers_.astype(np.float32)
    raw = np.stack(
        [
            aggregate(short, codebook, nearest_words(short, codebook))
            for short in _subsets(vectors, mean, reduce, rng)
        ]
    )
    compressing = PCA(min(size, len(raw) - 1), random_state=seed).fit(raw)
    whitened = compressing.components_ / np.sqrt(compressing.explained_variance_ + 1e-4)[:, None] ** 0.5
    centre = compressing.mean_.astype(np.float32)
    return VladModel(mean, reduce, codebook, centre, whitened.astype(np.float32))


def _subsets(
    vectors: Sequence[Floats], mean: Floats, reduce: Floats, rng: np.random.Generator
) -> Iterator[Floats]:
    """Every picture's descriptors, and a random half of them, so that the PCA sees sparse photos too."""
    for part in vectors:
        short = (part - mean) @ reduce.T
        yield short
        yield short[rng.random(len(short)) < 0.5]


def pairs(pictures: Sequence[Described], strangers: int, seed: int) -> list[Pair]:
    """Every query against its own catalogue picture, its siblings' and `strangers` unrelated ones."""
    rng = np.random.default_rng(seed)
    catalogue = [picture for picture in pictures if picture.catalogue]
    found = []
    for number, query in enumerate(picture for picture in pictures if not picture.catalogue):
        ready = QueryFeatures.of(query.features)
        kin = [item for item in catalogue if item.family == query.family]
        others = [item for item in catalogue if item.family != query.family]
        chosen = [
            others[index] for index in rng.choice(len(others), min(strangers, len(others)), replace=False)
        ]
        for item in (*kin, *chosen):
            same = item.thing == query.thing
            siblings = item.family == query.family and not same
            shared = siblings and item.print_run == query.print_run
            found.append(Pair(verify(ready, item.features), same, siblings, shared, query.family, number))
    return found


def fit_calibration(sample: Sequence[Pair]) -> Calibration:
    """Geometry against strangers and look-alike facades; whole print against all that shares letters or
    pictures. Only pairs that share something are asked about.
    """
    seen = [pair for pair in sample if pair.evidence.coherent and not pair.shared_print]
    weights = [LOOK_ALIKE_WEIGHT if pair.siblings else 1.0 for pair in seen]
    geometry = _logistic([geometry_signals(pair.evidence) for pair in seen], seen, weights)
    printed = [
        pair
        for pair in sample
        if pair.evidence.print_likeness >= PRINTED and pair.evidence.coherent >= RIVAL_SUPPORT
    ]
    inputs = [print_signals(pair.evidence) for pair in printed]
    whole_print = _logistic(inputs, printed, [1.0] * len(printed))
    return Calibration(geometry, whole_print, _fit_rivalry(sample))


def _fit_rivalry(sample: Sequence[Pair]) -> float:
    """How much more support the seen thing has than its sibling, over all photos that match both."""
    own = {pair.query: pair.evidence.coherent for pair in sample if pair.same}
    ratios = [
        np.log((own[pair.query] + 1) / (pair.evidence.coherent + 1))
        for pair in sample
        if pair.siblings and pair.evidence.coherent >= RIVAL_SUPPORT
    ]
    inputs = np.array([*ratios, *(-ratio for ratio in ratios)])[:, None]
    labels = np.repeat([True, False], len(ratios))
    model = LogisticRegression(C=1.0, fit_intercept=False).fit(inputs, labels)
    return float(model.coef_[0][0])


def _logistic(inputs: Sequence[Floats], sample: Sequence[Pair], weights: Sequence[float]) -> Logistic:
    model = LogisticRegression(C=1.0, max_iter=5000)
    model.fit(np.stack(inputs), [pair.same for pair in sample], sample_weight=weights)
    return Logistic(model.coef_[0].astype(np.float32), float(model.intercept_[0]))
