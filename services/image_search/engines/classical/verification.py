"""Is it the same thing: the geometry that matched keypoints agree on, and how much of it is found again.

Sources: Lowe 2004, section 7.1 (ratio test); H. Jégou, M. Douze and C. Schmid, "Hamming Embedding and
Weak Geometric Consistency" (ECCV 2008, section 4); D. Barath et al., "MAGSAC++, a Fast, Reliable and
Accurate Robust Estimator" (CVPR 2020), as OpenCV's USAC_MAGSAC.
"""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from services.image_search.engines.classical.features import Floats, LocalFeatures, unit_descriptors

Indices = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Complexes = npt.NDArray[np.complexfloating[Any, Any]]

RATIO = 0.9
"""Loose, because the mutual check and the weak geometry remove what it lets through."""

TURN_WINDOW = float(np.pi / 6)
SCALE_WINDOW = float(np.log(2.0))
MOST_MATCHES = 600
BLOCK_ROWS = 256
"""With 3,000 columns 3 MB, which stay in a core's cache between the passes over them."""

NEIGHBOURS = 10
SUPPORTERS = 2
NEIGHBOURHOOD_PX = 200.0
LETTER_PX = 50.0
SLACK = 0.35
SLACK_PX = 4.0

FEWEST_MATCHES = 8
EPIPOLAR_PX = 2.0
HOMOGRAPHY_PX = 5.0
CELL_PX = 32
SAME_SPOT_PX = 3.0
GLANCE_KEYPOINTS = 1000
PRINT_PLAINNESS = (0.26, 0.38)
"""Facades in photographs measured 0.11 to 0.24 here, covers, menus and signs 0.32 to 0.55."""

EXPLAINED_KEYPOINTS = 400
EXPLAINED_PX = 8.0
EXPLAINED_SIMILARITY = 0.8
SMALLEST_SEEN_PX = 2.0
FEWEST_ASKED = 20


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence that two photos show the same thing; all zero if no match is left.

    `consistent`: mutual matches of one turn and scale; `epipolar`, `planar`: distinct
    spots that fit one fundamental matrix, one homography; `coherent`: those whose neighbours moved along;
    `cells`: 32-pixel cells that the coherent ones cover, the lesser of both photos; `print_likeness`:
    how surely the matched spots are printed matter (0..1); where they may be, `explained`: share of the
    item's strongest keypoints that are in the query where the homography puts them; `query_box`: left, top,
    right, bottom of the matched spots in the query, as shares of its sides.
    """

    consistent: int = 0
    epipolar: int = 0
    planar: int = 0
    coherent: int = 0
    cells: int = 0
    print_likeness: float = 0.0
    explained: float = 0.0
    query_box: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    @property
    def inliers(self) -> int:
        """Distinct spots behind the better of the two models."""
        return max(self.epipolar, self.planar)


@dataclass(frozen=True, slots=True, eq=False)
class QueryFeatures:
    """A query's features with their unit vectors, computed once for all candidates."""

    features: LocalFeatures
    vectors: Floats

    @classmethod
    def of(cls, features: LocalFeatures) -> "QueryFeatures":
        """Features with their unit vectors."""
        return cls(features, unit_descriptors(features.descriptors))


def glance(query: QueryFeatures, item: LocalFeatures) -> int:
    """Coherent matches of the strongest keypoints: a tenth of the work of `verify`, to order candidates."""
    few = query.features.strongest(GLANCE_KEYPOINTS)
    other = item.strongest(GLANCE_KEYPOINTS)
    tentative = mutual_matches(query.vectors[:GLANCE_KEYPOINTS], unit_descriptors(other.descriptors))
    matches = tentative.keep(consistent(few, other, tentative))
    return int(coherent(few, other, matches).sum())


def verify(query: QueryFeatures, item: LocalFeatures) -> Evidence:
    """The evidence that both photos show the same thing. Deterministic."""
    tentative = mutual_matches(query.vectors, unit_descriptors(item.descriptors))
    matches = tentative.keep(consistent(query.features, item, tentative))
    if len(matches) < FEWEST_MATCHES:
        return Evidence(consistent=len(matches))
    here = query.features.points[matches.query]
    there = item.points[matches.item]
    epipolar = _epipolar_inliers(here, there)
    homography, planar = _planar_inliers(here, there, item)
    chosen = planar if len(planar) >= len(epipolar) else epipolar
    together = chosen[coherent(query.features, item, matches.keep(chosen))]
    print_likeness = _print_likeness(item, matches.item[together])
    explained = 0.0
    if homography is not None and print_likeness > 0:
        explained = _explained_share(query, item, homography)
    return Evidence(
        consistent=len(matches),
        epipolar=len(_distinct(here, there, epipolar)),
        planar=len(_distinct(here, there, planar)),
        coherent=len(_distinct(here, there, together)),
        cells=min(_cells(here[together]), _cells(there[together])),
        print_likeness=print_likeness,
        explained=explained,
        query_box=_box(here[chosen], query.features),
    )


def _epipolar_inliers(here: Floats, there: Floats) -> Indices:
    try:
        model, mask = cv2.findFundamentalMat(there, here, cv2.USAC_MAGSAC, EPIPOLAR_PX, 0.999, 5000)
    except cv2.error:  # OpenCV asserts, instead of returning None, when no sample gives a model.
        return np.zeros(0, np.intp)
    if model is None or mask is None:
        return np.zeros(0, np.intp)
    return np.nonzero(mask.ravel())[0]


def _planar_inliers(here: Floats, there: Floats, item: LocalFeatures) -> tuple[Floats | None, Indices]:
    """The homography from the item to the query, and which matches it explains."""
    try:
        model, mask = cv2.findHomography(
            there, here, cv2.USAC_MAGSAC, HOMOGRAPHY_PX, maxIters=5000, confidence=0.999
        )
    except cv2.error:
        return None, np.zeros(0, np.intp)
    if model is None or mask is None:
        return None, np.zeros(0, np.intp)
    inliers = np.nonzero(mask.ravel())[0]
    if not len(inliers) or not _plausible(np.asarray(model, np.float64), there[inliers]):
        return None, np.zeros(0, np.intp)
    return np.asarray(model, np.float64), inliers


def _plausible(model: Floats, spots: Floats) -> bool:
    """A view of a flat thing keeps its orientation and squeezes it within reason."""
    left, top = spots.min(axis=0)
    right, bottom = spots.max(axis=0)
    corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float64)
    weights = np.c_[corners, np.ones(4)] @ model[2]
    if weights.min() <= 0 < weights.max() or right - left < 1 or bottom - top < 1:
        return False
    outline = np.asarray(cv2.perspectiveTransform(corners[None].astype(np.float32), model)[0], np.float64)
    edges = np.roll(outline, -1, axis=0) - outline
    following = np.roll(edges, -1, axis=0)
    crosses = edges[:, 0] * following[:, 1] - edges[:, 1] * following[:, 0]
    lengths = np.linalg.norm(edges, axis=1)
    return bool(crosses.min() > 0 and lengths.min() > 4 and lengths.max() / lengths.min() < 20)


def _print_likeness(item: LocalFeatures, spots: Indices) -> float:
    """From 0 for scenes to 1 for print, by how plain the ground around the matched spots is."""
    if not len(spots):
        return 0.0
    plain = float(np.median(item.plainness[spots])) / 255
    low, high = PRINT_PLAINNESS
    return min(1.0, max(0.0, (plain - low) / (high - low)))


def _explained_share(query: QueryFeatures, item: LocalFeatures, homography: Floats) -> float:
    """Share of the item's strongest keypoints that have an alike keypoint where they should be.

    Only those count that are in the query's view and would be large enough there to be seen.
    """
    few = item.strongest(EXPLAINED_KEYPOINTS)
    places = np.asarray(cv2.perspectiveTransform(few.points[None], homography)[0], np.float32)
    beside = np.asarray(cv2.perspectiveTransform(few.points[None] + np.float32(1), homography)[0])
    zoom = np.linalg.norm(beside - places, axis=1) / np.sqrt(2)
    frame = np.array([query.features.width, query.features.height], np.float32)
    visible = ((places > 0) & (places < frame)).all(axis=1) & (few.sizes * zoom >= SMALLEST_SEEN_PX)
    chosen = np.nonzero(visible)[0]
    if len(chosen) < FEWEST_ASKED:
        return 0.0
    similarity = unit_descriptors(few.descriptors[chosen]) @ query.vectors.T
    spots = query.features.points
    apart = np.abs(places[chosen, None, 0] - spots[None, :, 0])
    apart += np.abs(places[chosen, None, 1] - spots[None, :, 1])
    similarity[apart > EXPLAINED_PX] = 0.0
    return float((similarity.max(axis=1) > EXPLAINED_SIMILARITY).mean())


def _distinct(here: Floats, there: Floats, inliers: Indices) -> Indices:
    """One match for each spot, because SIFT gives a spot several orientations."""
    spots = np.rint(np.c_[here[inliers], there[inliers]] / SAME_SPOT_PX).astype(np.int64)
    _, once_here = np.unique(spots[:, :2], axis=0, return_index=True)
    _, once_there = np.unique(spots[:, 2:], axis=0, return_index=True)
    return inliers[np.intersect1d(once_here, once_there)]


def _cells(points: Floats) -> int:
    return len(np.unique(np.floor(points / CELL_PX).astype(np.int64), axis=0))


def _box(points: Floats, features: LocalFeatures) -> tuple[float, float, float, float]:
    if not len(points):
        return (0.0, 0.0, 0.0, 0.0)
    (left, top), (right, bottom) = points.min(axis=0), points.max(axis=0)
    width, height = features.width, features.height
    return (float(left / width), float(top / height), float(right / width), float(bottom / height))


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Row k pairs keypoint `query[k]` with `item[k]`; most distinctive first."""

    query: Indices
    item: Indices

    def __len__(self) -> int:
        return len(self.query)

    def keep(self, rows: Mask | Indices) -> "Matches":
        """The rows where a mask is true, or of these numbers."""
        return Matches(self.query[rows], self.item[rows])


def mutual_matches(query: Floats, item: Floats) -> Matches:
    """Pairs of unit descriptors that choose each other and pass the ratio test. (n, 128), (m, 128).

    In blocks of rows, so that memory stays bounded.
    """
    if len(query) < 2 or len(item) < 2:
        empty = np.zeros(0, np.intp)
        return Matches(empty, empty)
    nearest = np.empty(len(query), np.intp)
    best, second = np.empty(len(query), np.float32), np.empty(len(query), np.float32)
    best_of_item = np.full(len(item), -1, np.float32)
    for start in range(0, len(query), BLOCK_ROWS):
        block = query[start : start + BLOCK_ROWS] @ item.T
        rows, own = np.arange(len(block)), slice(start, start + len(block))
        nearest[own] = block.argmax(axis=1)
        best[own] = block[rows, nearest[own]]
        np.maximum(best_of_item, block.max(axis=0), out=best_of_item)
        block[rows, nearest[own]] = -1
        second[own] = block.max(axis=1)
    ratios = np.sqrt(np.maximum(1 - best, 1e-7) / np.maximum(1 - second, 1e-7))
    best_rows = np.nonzero((best >= best_of_item[nearest]) & (ratios < RATIO))[0]
    best_rows = best_rows[np.argsort(ratios[best_rows], kind="stable")][:MOST_MATCHES]
    return Matches(best_rows, nearest[best_rows])


def consistent(query: LocalFeatures, item: LocalFeatures, matches: Matches) -> Mask:
    """Matches that share one turn and one change of scale: the most supported pair of them.

    A camera's move turns and scales all spots of a thing alike, within what perspective adds.
    """
    if not len(matches):
        return np.zeros(0, np.bool_)
    turns = query.angles[matches.query] - item.angles[matches.item]
    scales = np.log(query.sizes[matches.query] / item.sizes[matches.item])
    directions = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    agrees = directions @ directions.T > np.cos(TURN_WINDOW)
    agrees &= np.abs(scales[:, None] - scales[None, :]) < SCALE_WINDOW
    supported: Mask = agrees[int(agrees.sum(axis=1).argmax())]
    return supported


def coherent(query: LocalFeatures, item: LocalFeatures, matches: Matches) -> Mask:
    """Matches whose neighbours moved along with them, as those on one surface do.

    This tells a seen thing from letters and windows that repeat: those match too, even along epipolar
    lines, but each lands on another copy. Neighbours closer than a letter are not asked.
    """
    if len(matches) <= SUPPORTERS:
        return np.zeros(len(matches), np.bool_)
    here = _complex(query.points[matches.query])
    there = _complex(item.points[matches.item])
    turns = np.exp(1j * (query.angles[matches.query] - item.angles[matches.item]))
    motions = turns * (query.sizes[matches.query] / item.sizes[matches.item])
    return _support(there, here, motions) | _support(here, there, 1 / motions)


def _support(start: Complexes, end: Complexes, motions: Complexes) -> Mask:
    """Return whether enough neighbours in `start` are in `end` where the local turn and scale put them.

    Positions are x + iy, so that a turn and scale is one factor.
    """
    distances = np.abs(start[:, None] - start[None, :])
    distances[distances < LETTER_PX] = np.inf
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :NEIGHBOURS]
    near = np.take_along_axis(distances, nearest, axis=1) < NEIGHBOURHOOD_PX
    local = motions[nearest]
    turn = local.mean(axis=1)
    scale = np.median(np.abs(local), axis=1)
    motion = (scale * turn / np.maximum(np.abs(turn), 1e-6))[:, None]
    expected = (start[nearest] - start[:, None]) * motion
    moved = end[nearest] - end[:, None]
    along = np.abs(moved - expected) < SLACK * np.abs(expected) + SLACK_PX
    supported: Mask = (along & near & (np.abs(moved) > SLACK_PX)).sum(axis=1) >= SUPPORTERS
    return supported


def _complex(points: Floats) -> Complexes:
    return points[:, 0] + 1j * points[:, 1]
