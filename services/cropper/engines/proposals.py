"""Candidate regions by OpenCV: closed contours, rectangles between long lines, and blocks of text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from chassis.rgb import RGB
from services.cropper.engines.geometry import Quad, Quads, areas, reasonable, sort_corners

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.floating[Any]]

WORKING_SIDE = 640
WEAK_EDGE_PERCENTILE = 75
BRIGHT = 200.0


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """`scale`: working pixels per photo pixel; `gradient` (H, W, 2): the steepest channel's, x and y."""

    scale: float
    channels: tuple[Bytes, ...]
    gradient: Floats
    weak_edge: float

    @property
    def width(self) -> int:
        """Working pixels."""
        return int(self.gradient.shape[1])

    @property
    def height(self) -> int:
        """Working pixels."""
        return int(self.gradient.shape[0])


def look(photo: RGB) -> View:
    """Scale the photo down and take luminance and the two colour channels of CIELAB."""
    height, width = photo.shape[:2]
    scale = min(1.0, WORKING_SIDE / max(height, width))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = np.asarray(cv2.resize(photo, size, interpolation=cv2.INTER_AREA), np.uint8)
    lab = np.asarray(cv2.cvtColor(cv2.medianBlur(_brighten(small), 5), cv2.COLOR_RGB2LAB), np.uint8)
    channels = tuple(np.ascontiguousarray(lab[..., index]) for index in range(3))
    gradient = _steepest(channels)
    strength = np.linalg.norm(gradient, axis=2)
    return View(scale, channels, gradient, max(12.0, float(np.percentile(strength, WEAK_EDGE_PERCENTILE))))


def edge_maps(view: View) -> list[Bytes]:
    """Binary edges at two sensitivities for luminance and one for each colour channel, gaps closed."""
    kernel = cv2.getStructuringElement(cv2.MORPH_RECT, (3, 3))
    maps = []
    for index, channel in enumerate(view.channels):
        typical = float(np.median(cv2.absdiff(channel, cv2.blur(channel, (9, 9))))) + 4
        for factor in (4.0, 10.0) if index == 0 else (3.0,):
            edges = cv2.Canny(channel, factor * typical, 2.5 * factor * typical, L2gradient=True)
            maps.append(np.asarray(cv2.dilate(edges, kernel), np.uint8))
    return maps


def _brighten(small: RGB) -> RGB:
    """Dim photos stretched to the full range, so that one set of thresholds does for all."""
    top = float(np.percentile(small[::4, ::4], 99))
    if top >= BRIGHT:
        return small
    table = np.clip(np.arange(256) * (BRIGHT / max(top, 16.0)), 0, 255).astype(np.uint8)
    return np.asarray(cv2.LUT(small, table), np.uint8)


def _steepest(channels: tuple[Bytes, ...]) -> Floats:
    """The gradient of whichever channel changes most; colour counts double, being flatter by nature."""
    fields = []
    for index, channel in enumerate(channels):
        weight = 1.0 if index == 0 else 2.0
        across = cv2.Sobel(channel, cv2.CV_32F, 1, 0, scale=weight / 4)
        down = cv2.Sobel(channel, cv2.CV_32F, 0, 1, scale=weight / 4)
        fields.append(np.stack([across, down], axis=2))
    stacked = np.stack(fields)
    steepest = (stacked**2).sum(axis=3).argmax(axis=0)
    chosen: Floats = np.take_along_axis(stacked, steepest[None, ..., None], axis=0)[0]
    return chosen


SMALLEST_SHARE = 0.01
MOST_CONTOURS = 24
DETAIL_PX = 5
LINES_A_DIRECTION = 9
SHORTEST_LINE = 0.1
"""Of the photo's longer side."""


def contour_quads(view: View) -> Quads:
    """Quadrilaterals that contours of edges and of flat areas come down to; (n, 4, 2)."""
    smallest = SMALLEST_SHARE * view.width * view.height
    outlines: list[Quad] = []
    for binary in (*edge_maps(view), *_flat_areas(view), *_busy_areas(view)):
        contours, _ = cv2.findContours(binary, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
        boxes = [cv2.boundingRect(contour) for contour in contours]
        sized = [
            (width * height, np.asarray(contour))
            for (_, _, width, height), contour in zip(boxes, contours, strict=True)
        ]
        large = sorted((pair for pair in sized if pair[0] >= smallest), key=lambda pair: -pair[0])
        for _, contour in large[:MOST_CONTOURS]:
            outlines.extend(_four_sided(contour))
    quads = np.stack(outlines) if outlines else np.zeros((0, 4, 2), np.float32)
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


def _four_sided(contour: npt.NDArray[Any]) -> Iterator[Quad]:
    """The hull simplified until four corners are left, if that happens, and its tightest rectangle."""
    hull = cv2.convexHull(contour)
    around = cv2.arcLength(hull, True)
    for tolerance in (0.02, 0.035, 0.05, 0.08):
        corners = cv2.approxPolyDP(hull, tolerance * around, True)
        if len(corners) == 4:
            yield sort_corners(corners)
            break
        if len(corners) < 4:
            break
    rectangle = cv2.minAreaRect(hull)
    if rectangle[1][0] * rectangle[1][1] * 0.8 < cv2.contourArea(hull):
        yield sort_corners(cv2.boxPoints(rectangle))


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
        blocks.append((sort_corners(cv2.boxPoints(grown)), float(score)))
    return blocks


def _strokes(grey: Bytes) -> Bytes:
    """Mark pixels where brightness swings within a few pixels, as strokes of letters do."""
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


SAMPLES_A_SIDE = 24
OFFSETS = np.arange(-3, 4, dtype=np.float32)
ALIGNED = 0.8
CORNER_SHARE = 0.06


def outline_scores(view: View, quads: Quads) -> Floats:
    """(n,) in 0..1 for (n, 4, 2): edges along all four sides, the weakest side above all, and size.

    Samples outside the photo count half: a thing cut off by the frame still is a thing.
    """
    if not len(quads):
        return np.zeros(0, np.float32)
    support = _side_support(view, quads)
    frame = view.width * view.height
    crossed = areas(quads) / frame
    size = np.clip(np.sqrt(crossed) / 0.5, 0.25, 1.0)
    whole = np.where(crossed > 0.93, 0.5, 1.0)
    sides = 0.5 * support.mean(axis=1) + 0.5 * np.sort(support, axis=1)[:, :2].mean(axis=1)
    scores: Floats = (sides * (0.6 + 0.4 * size) * whole).astype(np.float32)
    return scores


def _side_support(view: View, quads: Quads) -> Floats:
    """(n, 4): share of each side's samples with an edge along the side."""
    starts, ends = quads, np.roll(quads, -1, axis=1)
    along = ends - starts
    lengths = np.maximum(np.linalg.norm(along, axis=2, keepdims=True), 1e-6)
    normals = np.stack([-along[..., 1], along[..., 0]], axis=2) / lengths
    places = np.linspace(CORNER_SHARE, 1 - CORNER_SHARE, SAMPLES_A_SIDE, dtype=np.float32)
    samples = starts[:, :, None] + along[:, :, None] * places[None, None, :, None]
    shifted = samples[:, :, :, None] + normals[:, :, None, None] * OFFSETS[None, None, None, :, None]
    columns = np.rint(shifted[..., 0]).astype(np.int32)
    rows = np.rint(shifted[..., 1]).astype(np.int32)
    outside = (columns < 1) | (rows < 1) | (columns >= view.width - 1) | (rows >= view.height - 1)
    columns, rows = np.clip(columns, 0, view.width - 1), np.clip(rows, 0, view.height - 1)
    gradient = view.gradient[rows, columns]
    strength = np.linalg.norm(gradient, axis=-1)
    across = np.abs((gradient * normals[:, :, None, None]).sum(axis=-1))
    edge = (strength > view.weak_edge) & (across > ALIGNED * strength)
    hit = np.where(outside.any(axis=3), 0.5, edge.any(axis=3))
    support: Floats = hit.mean(axis=2).astype(np.float32)
    return support
