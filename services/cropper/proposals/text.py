"""Blocks of text by their strokes: many strong, short gradients close together in rows."""

import cv2
import numpy as np

from services.cropper.proposals.edges import Bytes, View
from services.cropper.proposals.geometry import Quad, ordered

SMALLEST_LINE = (18, 6)
"""Working pixels, width and height."""

STROKE_SHARE = (0.12, 0.75)
GROWTH = 1.12


def text_blocks(view: View) -> list[tuple[Quad, float]]:
    """Rectangles around lines of text that stand together, with a score in 0..1 by size and fill."""
    strokes = _strokes(view.channels[0])
    lines = _lines(strokes)
    joined = cv2.morphologyEx(lines, cv2.MORPH_CLOSE, np.ones((25, 9), np.uint8))
    contours, _ = cv2.findContours(joined, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    blocks = []
    for contour in contours:
        rectangle = cv2.minAreaRect(contour)
        longer, shorter = max(rectangle[1]), min(rectangle[1])
        if shorter < 10 or longer < 28:
            continue
        fill = cv2.contourArea(contour) / max(longer * shorter, 1.0)
        share = longer * shorter / (view.width * view.height)
        if fill < 0.35 or share > 0.9:
            continue
        grown = (rectangle[0], (rectangle[1][0] * GROWTH, rectangle[1][1] * GROWTH), rectangle[2])
        score = min(1.0, fill) * (0.4 + 0.6 * min(1.0, float(np.sqrt(share)) / 0.4))
        blocks.append((ordered(cv2.boxPoints(grown)), float(score)))
    return blocks


def _strokes(grey: Bytes) -> Bytes:
    """Where brightness swings within a few pixels, as strokes of letters do."""
    swing = cv2.morphologyEx(grey, cv2.MORPH_GRADIENT, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 3)))
    level = max(24.0, float(np.percentile(swing, 88)))
    return np.asarray(swing > level, np.uint8) * 255


def _lines(strokes: Bytes) -> Bytes:
    """A mask of row-like groups of strokes: neither solid nor sparse, and not a single long edge."""
    joined = cv2.morphologyEx(strokes, cv2.MORPH_CLOSE, np.ones((3, 13), np.uint8))
    joined = cv2.morphologyEx(joined, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    inked = np.bincount(labels.ravel(), weights=(strokes.ravel() > 0), minlength=count)
    widths, heights = stats[:, cv2.CC_STAT_WIDTH], stats[:, cv2.CC_STAT_HEIGHT]
    areas = np.maximum(stats[:, cv2.CC_STAT_AREA], 1)
    share = inked / areas
    chosen = (widths >= SMALLEST_LINE[0]) & (heights >= SMALLEST_LINE[1]) & (widths > 1.3 * heights)
    chosen &= (share > STROKE_SHARE[0]) & (share < 0.97) & (areas / (widths * heights) > 0.35)
    chosen[0] = False
    mask: Bytes = np.where(chosen[labels], 255, 0).astype(np.uint8)
    return mask
