"""Which keypoints of two photos are the same spot: nearest neighbours that agree, then weak geometry.

Sources: Lowe 2004, section 7.1 (ratio test); H. Jégou, M. Douze and C. Schmid, "Hamming Embedding and
Weak Geometric Consistency" (ECCV 2008, section 4).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from services.image_search.engines.classical.features import Floats, LocalFeatures

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
    rows_kept = np.nonzero((best >= best_of_item[nearest]) & (ratios < RATIO))[0]
    rows_kept = rows_kept[np.argsort(ratios[rows_kept], kind="stable")][:MOST_MATCHES]
    return Matches(rows_kept, nearest[rows_kept])


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
    """Whether enough neighbours in `start` are found in `end` where the local turn and scale put them.

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
