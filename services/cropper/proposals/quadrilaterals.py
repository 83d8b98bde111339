"""Four-sided candidates: closed contours, and rectangles that long straight lines span."""

from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from services.cropper.proposals.edges import Bytes, Floats, View, edge_maps
from services.cropper.proposals.geometry import Quad, Quads, ordered, reasonable

SMALLEST_SHARE = 0.01
MOST_CONTOURS = 24
DETAIL_PX = 5
LINES_A_DIRECTION = 9
SHORTEST_LINE = 0.1
"""Of the photo's longer side."""


def contour_quads(view: View) -> Quads:
    """Quadrilaterals that contours of edges and of flat areas come down to; (n, 4, 2)."""
    smallest = SMALLEST_SHARE * view.width * view.height
    found: list[Quad] = []
    for binary in (*edge_maps(view), *_flat_areas(view), *_busy_areas(view)):
        contours, _ = cv2.findContours(binary, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
        sized = [(_extent(np.asarray(contour)), np.asarray(contour)) for contour in contours]
        large = sorted((pair for pair in sized if pair[0] >= smallest), key=lambda pair: -pair[0])
        for _, contour in large[:MOST_CONTOURS]:
            found.extend(_four_sided(contour))
    quads = np.stack(found) if found else np.zeros((0, 4, 2), np.float32)
    return quads[reasonable(quads, smallest)]


def line_quads(view: View) -> Quads:
    """Quadrilaterals between the longest lines of two directions, for outlines with gaps; (n, 4, 2)."""
    flatter, steeper = _long_lines(view)
    if len(flatter) < 2 or len(steeper) < 2:
        return np.zeros((0, 4, 2), np.float32)
    crossings = np.cross(np.stack(flatter)[:, None], np.stack(steeper)[None])
    depth = np.where(np.abs(crossings[..., 2]) < 1e-6, np.nan, crossings[..., 2])
    corners = crossings[..., :2] / depth[..., None]
    upper, lower = np.triu_indices(len(flatter), 1)
    left, right = np.triu_indices(len(steeper), 1)
    quads = np.stack(
        [
            corners[first[:, None], second[None]].reshape(-1, 2)
            for first, second in ((upper, left), (upper, right), (lower, right), (lower, left))
        ],
        axis=1,
    )
    margin = 0.02 * max(view.width, view.height)
    inside = (quads >= -margin) & (quads <= np.array([view.width, view.height]) + margin)
    quads = quads[inside.all(axis=(1, 2))].astype(np.float32)
    # Lines are listed by length, so a quadrilateral may come out mirrored; its reverse is the same place.
    quads = np.concatenate([quads, quads[:, ::-1]])
    quads = quads[reasonable(quads, 2 * SMALLEST_SHARE * view.width * view.height)]
    return quads


def _flat_areas(view: View) -> list[Bytes]:
    """Bright and dark, and strongly coloured, areas."""
    masks = []
    for channel in view.channels:
        _, bright = cv2.threshold(channel, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
        masks.append(np.asarray(bright, np.uint8))
    return masks


def _busy_areas(view: View) -> list[Bytes]:
    """Areas of fine detail on calmer ground, as a painting on a wall is; shrunk by what the blur added."""
    detail = np.minimum(np.linalg.norm(view.gradient, axis=2), 4 * view.weak_edge)
    level = np.asarray(cv2.blur(detail, (2 * DETAIL_PX + 1, 2 * DETAIL_PX + 1)))
    scaled = np.asarray(255 * level / max(float(level.max()), 1.0), np.uint8)
    _, busy = cv2.threshold(scaled, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    closed = cv2.morphologyEx(busy, cv2.MORPH_CLOSE, np.ones((15, 15), np.uint8))
    opened = cv2.morphologyEx(closed, cv2.MORPH_OPEN, np.ones((25, 25), np.uint8))
    return [np.asarray(opened, np.uint8)]


def _extent(contour: npt.NDArray[Any]) -> float:
    _, _, width, height = cv2.boundingRect(contour)
    return float(width * height)


def _four_sided(contour: npt.NDArray[Any]) -> Iterator[Quad]:
    """The hull simplified until four corners are left, if that happens, and its tightest rectangle."""
    hull = cv2.convexHull(contour)
    around = cv2.arcLength(hull, True)
    for tolerance in (0.02, 0.035, 0.05, 0.08):
        corners = cv2.approxPolyDP(hull, tolerance * around, True)
        if len(corners) == 4:
            yield ordered(corners)
            break
        if len(corners) < 4:
            break
    rectangle = cv2.minAreaRect(hull)
    if rectangle[1][0] * rectangle[1][1] * 0.8 < cv2.contourArea(hull):
        yield ordered(cv2.boxPoints(rectangle))


def _long_lines(view: View) -> tuple[list[Floats], list[Floats]]:
    """Homogeneous lines of two directions, the best supported first, near doubles merged."""
    segments = cv2.createLineSegmentDetector(cv2.LSD_REFINE_NONE).detect(view.channels[0])[0]
    if segments is None:
        return [], []
    segments = segments.reshape(-1, 4)
    vectors = segments[:, 2:] - segments[:, :2]
    lengths = np.linalg.norm(vectors, axis=1)
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > SHORTEST_LINE * max(view.width, view.height)]
    flat = np.abs(vectors[:, 0]) >= np.abs(vectors[:, 1])
    return (
        _distinct([segments[index] for index in order if flat[index]]),
        _distinct([segments[index] for index in order if not flat[index]]),
    )


def _distinct(segments: list[Floats]) -> list[Floats]:
    """Lines through the longest segments; a segment that lies on a line already taken is left out."""
    lines: list[Floats] = []
    for segment in segments:
        ends = np.array([[segment[0], segment[1], 1], [segment[2], segment[3], 1]], np.float32)
        if any(np.abs(ends @ line).max() < 5 for line in lines):
            continue
        line = np.cross(ends[0], ends[1])
        lines.append(line / np.linalg.norm(line[:2]))
        if len(lines) == LINES_A_DIRECTION:
            break
    return lines
