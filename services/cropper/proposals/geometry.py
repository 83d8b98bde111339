"""Quadrilaterals as (4, 2) float32 arrays, clockwise from the top left."""

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

Quad = npt.NDArray[np.floating[Any]]
Quads = npt.NDArray[np.floating[Any]]
"""(n, 4, 2)."""


def ordered(points: npt.NDArray[np.generic]) -> Quad:
    """The same corners clockwise, starting with the one nearest to the top left."""
    corners = np.asarray(points, np.float32).reshape(4, 2)
    offsets = corners - corners.mean(axis=0)
    corners = corners[np.argsort(np.arctan2(offsets[:, 1], offsets[:, 0]), kind="stable")]
    start = int((corners - corners.min(axis=0)).sum(axis=1).argmin())
    return np.roll(corners, -start, axis=0)


def area(quad: Quad) -> float:
    """Square pixels."""
    return float(cv2.contourArea(quad))


def overlap(first: Quad, second: Quad) -> float:
    """Intersection over union of two convex quadrilaterals."""
    shared, _ = cv2.intersectConvexConvex(first, second)
    union = area(first) + area(second) - shared
    return float(shared / union) if union > 0 else 0.0


def reasonable(quads: Quads, smallest: float) -> npt.NDArray[np.bool_]:
    """(n,) for (n, 4, 2): convex, not tiny, corners between 35 and 145 degrees, sides within 1 : 8."""
    edges = np.roll(quads, -1, axis=1) - quads
    following = np.roll(edges, -1, axis=1)
    turns = edges[..., 0] * following[..., 1] - edges[..., 1] * following[..., 0]
    lengths = np.linalg.norm(edges, axis=2)
    reach = np.maximum(lengths * np.linalg.norm(following, axis=2), 1e-6)
    cosines = np.abs((edges * following).sum(axis=2)) / reach
    mask: npt.NDArray[np.bool_] = (
        (turns.min(axis=1) > 0)
        & (areas(quads) >= smallest)
        & (lengths.min(axis=1) >= 8)
        & (lengths.max(axis=1) <= 8 * lengths.min(axis=1))
        & (cosines.max(axis=1) < np.cos(np.deg2rad(35)))
    )
    return mask


def areas(quads: Quads) -> npt.NDArray[np.floating[Any]]:
    """(n,) square pixels for (n, 4, 2)."""
    x, y = quads[..., 0], quads[..., 1]
    following_x, following_y = np.roll(x, -1, axis=1), np.roll(y, -1, axis=1)
    doubled: npt.NDArray[np.floating[Any]] = np.abs((x * following_y - following_x * y).sum(axis=1))
    return doubled / 2


def keep_apart(quads: list[Quad], scores: list[float], most_overlap: float, limit: int) -> list[int]:
    """Indices by falling score, without those that cover nearly the same area as a better one."""
    kept: list[int] = []
    for index in sorted(range(len(quads)), key=lambda place: -scores[place]):
        if len(kept) == limit:
            break
        if all(overlap(quads[index], quads[other]) < most_overlap for other in kept):
            kept.append(index)
    return kept
