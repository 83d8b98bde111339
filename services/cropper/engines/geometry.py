"""Quadrilaterals as (4, 2) float32 arrays, clockwise from the top left, and their straightened pictures.

Source of the aspect ratio: Z. Zhang and L. He, "Whiteboard Scanning and Image Enhancement" (2003),
section 3: a rectangle's true proportions follow from its four corners and the photo's centre.
"""

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from chassis.rgb import RGB
from services.cropper.engine import LONGEST_SIDE

Quad = npt.NDArray[np.floating[Any]]
Quads = npt.NDArray[np.floating[Any]]
"""(n, 4, 2)."""


def sort_corners(points: npt.NDArray[np.generic]) -> Quad:
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
    apart: list[int] = []
    for index in sorted(range(len(quads)), key=lambda place: -scores[place]):
        if len(apart) == limit:
            break
        if all(overlap(quads[index], quads[other]) < most_overlap for other in apart):
            apart.append(index)
    return apart


SHORTEST_SIDE = 16
PLAUSIBLE_FOCAL = (0.4, 1.6)
"""Focal length over the photo's longer side; outside of it the corners are too noisy to say."""

USUAL_FOCAL = 0.75


def rectify(photo: RGB, quad: Quad) -> RGB:
    """The area inside `quad` (photo pixels) as an upright picture of at most 1024 pixels a side."""
    width, height = target_size(quad, photo.shape[1], photo.shape[0])
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    model = cv2.getPerspectiveTransform(quad.astype(np.float32), corners)
    straight: RGB = np.asarray(
        cv2.warpPerspective(
            photo, model, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
        ),
        np.uint8,
    )
    return straight


def target_size(quad: Quad, width: int, height: int) -> tuple[int, int]:
    """Width and height, in whole pixels, of the straightened picture."""
    edges = np.linalg.norm(np.roll(quad, -1, axis=0) - quad, axis=1)
    wide, tall = float(max(edges[0], edges[2])), float(max(edges[1], edges[3]))
    ratio = true_aspect(quad, width, height)
    if ratio is not None:
        wide, tall = (tall * ratio, tall) if tall * ratio >= wide else (wide, wide / ratio)
    shrink = min(1.0, LONGEST_SIDE / max(wide, tall))
    return max(SHORTEST_SIDE, round(wide * shrink)), max(SHORTEST_SIDE, round(tall * shrink))


def true_aspect(quad: Quad, width: int, height: int) -> float | None:
    """Width over height of the rectangle behind the quadrilateral; None when the corners are no rectangle's.

    The focal length follows from the corners where perspective is strong in both directions; else a
    common camera's is assumed.
    """
    centred = np.c_[quad - np.array([width / 2, height / 2]), np.ones(4)].astype(np.float64)
    top_left, top_right, bottom_right, bottom_left = centred
    diagonal = np.cross(top_left, bottom_right)
    right_edge = float(np.cross(top_right, bottom_right) @ bottom_left)
    bottom_edge = float(np.cross(bottom_left, bottom_right) @ top_right)
    if abs(right_edge) < 1e-9 or abs(bottom_edge) < 1e-9:
        return None
    across = float(diagonal @ bottom_left) / right_edge * top_right - top_left
    down = float(diagonal @ top_right) / bottom_edge * bottom_left - top_left
    longer = max(width, height)
    focal_squared = (USUAL_FOCAL * longer) ** 2
    depth = float(across[2] * down[2])
    if abs(depth) > 1e-9:
        estimated = -float(across[:2] @ down[:2]) / depth
        if (PLAUSIBLE_FOCAL[0] * longer) ** 2 < estimated < (PLAUSIBLE_FOCAL[1] * longer) ** 2:
            focal_squared = estimated
    weights = np.array([1 / focal_squared, 1 / focal_squared, 1.0])
    ratio = float(np.sqrt((across**2 @ weights) / (down**2 @ weights)))
    return ratio if 1 / 8 < ratio < 8 else None
