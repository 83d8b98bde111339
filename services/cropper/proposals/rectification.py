"""A quadrilateral seen straight on, in the proportions that the thing really has.

Source of the aspect ratio: Z. Zhang and L. He, "Whiteboard Scanning and Image Enhancement" (2003),
section 3: a rectangle's true proportions follow from its four corners and the photo's centre.
"""

import cv2
import numpy as np

from services.cropper.engine import RGB
from services.cropper.framing import LONGEST_SIDE
from services.cropper.proposals.geometry import Quad

SHORTEST_SIDE = 16
PLAUSIBLE_FOCAL = (0.4, 1.6)
"""Focal length over the photo's longer side; outside of it the corners are too noisy to say."""

USUAL_FOCAL = 0.75


def rectified(photo: RGB, quad: Quad) -> RGB:
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
