"""Pictures of the sample as arrays, and perspective views of them."""

import cv2
import numpy as np
from PIL import Image

from chassis.rgb import RGB
from deploy.settings import SAMPLE

KINDS = ("book-0088", "food-0031", "game-0070", "menu-0055", "painting-0043", "plaque-0061", "shop-0059")
"""A thing of each kind."""
SIBLINGS = ("book-0063", "book-0064")
"""Two books of one series."""
LEANING = ((0.2, 0.15), (0.75, 0.25), (0.7, 0.85), (0.25, 0.9))
"""Corners of a thing that is seen from the side, as shares of the photo."""


def picture(name: str, long_side: int = 640) -> RGB:
    """Return a thing's catalogue picture, at most `long_side` pixels long."""
    with Image.open(SAMPLE / "catalogue" / f"{name}.jpg") as opened:
        opened.thumbnail((long_side, long_side))
        return np.asarray(opened.convert("RGB"))


def warped(photo: RGB, corners: tuple[tuple[float, float], ...] = LEANING, size: int = 640) -> RGB:
    """Return the photo with its corners at shares of a grey square."""
    height, width = photo.shape[:2]
    source = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    model = cv2.getPerspectiveTransform(source, np.array(corners, np.float32) * size)
    seen = cv2.warpPerspective(photo, model, (size, size), borderValue=(90, 100, 110))
    return np.asarray(seen, np.uint8)
