"""From evidence to a probability, and from probabilities of rivals to probabilities of one answer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from services.image_search.classical.features import Floats
from services.image_search.classical.verification import Evidence

GEOMETRY = ("log_coherent", "log_cells", "coherent_share")
SURFACE = ("alike", "unalike")
PATCH_INLIERS = 8
PATCH_SHARE = 0.4
PATCH_BLOCKS = 5
CERTAIN = 0.9995
SAME_PLACE = 0.5


def has_patch(evidence: Evidence) -> bool:
    """A plane explains enough of the match for its surfaces to be laid over each other."""
    enough = evidence.planar >= max(PATCH_INLIERS, PATCH_SHARE * evidence.epipolar)
    return enough and evidence.agreement.blocks >= PATCH_BLOCKS


def geometry_signals(evidence: Evidence) -> Floats:
    """What the matched spots say, in the order of `GEOMETRY`. Few signals, each of which can only help:
    more of them fit the drawn pictures better and real places worse.
    """
    share = evidence.coherent / max(evidence.consistent, 8)
    return np.array([np.log1p(evidence.coherent), np.log1p(evidence.cells), share], np.float32)


def surface_signals(evidence: Evidence) -> Floats:
    """What the areas between the spots say, in the order of `SURFACE`; few blocks say little."""
    surface = evidence.agreement
    counts = np.array([surface.alike, surface.unalike]) * surface.blocks
    return ((counts + 1) / (surface.blocks + 2)).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Logistic:
    """Logistic regression."""

    weights: Floats
    bias: float

    def probability(self, inputs: Floats) -> float:
        """Of the positive class."""
        logit = float(np.clip(self.weights @ inputs + self.bias, -30, 30))
        return 1.0 / (1.0 + float(np.exp(-logit)))


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Two questions: do the photos share a thing (`geometry`), and is it not just a sibling of the same
    make (`surface`, asked where a plane allows it)? `rivalry`: when two things are seen at one place, the
    log-odds between them per log of the ratio of their coherent matches.
    """

    geometry: Logistic
    surface: Logistic
    rivalry: float

    def probability(self, evidence: Evidence) -> float:
        """That both photos show the same thing. Nothing is certain: at most 0.9995."""
        if not evidence.coherent:
            return 0.0
        probability = self.geometry.probability(geometry_signals(evidence))
        if has_patch(evidence):
            probability *= self.surface.probability(surface_signals(evidence))
        return min(CERTAIN, probability)


@dataclass(frozen=True, slots=True)
class Claim:
    """One entity said to be at one place (`box`, as `Evidence.query_box`) of one photo.

    `support`: coherent matches.
    """

    entity: str
    probability: float
    support: int
    box: tuple[float, float, float, float]


def settle(claims: Sequence[Claim], rivalry: float) -> list[float]:
    """Probabilities once rivals are heard: one place shows one entity, most likely the best supported.

    Claims of the same entity, or about different places of the photo, are no rivals. Two that are
    supported alike halve each other, so that neither is told for sure.
    """
    weights = [claim.probability * float(claim.support) ** rivalry for claim in claims]
    settled = []
    for claim, own in zip(claims, weights, strict=True):
        rivals: dict[str, float] = {}
        for other, weight in zip(claims, weights, strict=True):
            if other.entity != claim.entity and _overlap(claim.box, other.box) >= SAME_PLACE:
                rivals[other.entity] = max(weight, rivals.get(other.entity, 0.0))
        share = own / (own + sum(rivals.values())) if own > 0 else 0.0
        settled.append(claim.probability * share)
    return settled


def _overlap(first: tuple[float, float, float, float], second: tuple[float, float, float, float]) -> float:
    """Shared area as a share of the smaller box."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
    return width * height / max(min(areas), 1e-9)
