"""Reading order by recursive X-Y cut (Nagy and Seth, 1984), and how much of a page is read.

Every pixel of a line's width costs time: which lines are read, and in which batches, is decided here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]

_COLUMN_GAP = 0.8  # of the median line height: narrower gaps separate words, not columns
_ROW_OVERLAP = 0.5  # of the lower line's height
_TABLE_SHARE = 0.6
_LONG = 2.0  # times its height: the slope of a shorter line is guesswork
_ENOUGH_LINES = 4


@dataclass(frozen=True, slots=True)
class Span:
    """A line's box on the straightened page; `index` is its place in the caller's list."""

    index: int
    left: float
    top: float
    right: float
    bottom: float
    has_digit: bool

    @property
    def height(self) -> float:
        """Pixels from top to bottom."""
        return self.bottom - self.top


def reading_order(quadrilaterals: Sequence[Points], texts: Sequence[str], quarter_turns: int) -> list[int]:
    """Indices of the lines as a reader meets them.

    `quadrilaterals`: (4, 2) each; `quarter_turns`: how often the text is turned clockwise by 90 degrees.
    """
    if not quadrilaterals:
        return []
    boxes = _straighten(np.stack(quadrilaterals), quarter_turns)
    spans = [_span(*item) for item in enumerate(zip(boxes, texts, strict=True))]
    return [span.index for span in _order(spans)]


def _span(index: int, line: tuple[Points, str]) -> Span:
    (x, y, width, height), text = line
    left, top, right, bottom = x - width / 2, y - height / 2, x + width / 2, y + height / 2
    return Span(index, float(left), float(top), float(right), float(bottom), any(map(str.isdigit, text)))


def _straighten(corners: Points, quarter_turns: int) -> Points:
    """(n, 4, 2) corners to (n, 4): centre x, centre y, width and height on a page whose lines are level.

    The first corner of each must be the text's own top left, the second its top right. The page is turned
    by the median slope; what slope is left (perspective makes it change down the page) is undone by a
    straight-line fit of slope over height, so that a price far to the right stays level with its dish.
    """
    turned = corners @ _rotation(-np.pi / 2 * quarter_turns).T
    widths, heights = _sides(turned)
    reliable = widths >= np.maximum(np.median(widths), _LONG * heights)
    reliable |= widths >= widths.max()
    along = turned[:, 1] - turned[:, 0] + turned[:, 2] - turned[:, 3]
    angle = float(np.median(np.arctan2(along[reliable, 1], along[reliable, 0])))
    level = turned @ _rotation(-angle).T
    centres = level.mean(axis=1)
    slopes = np.arctan2(along[:, 1], along[:, 0]) - angle
    drift = _drift(centres[reliable, 1], slopes[reliable], widths[reliable])
    middle = float(np.median(centres[:, 0]))
    rows = centres[:, 1] - drift(centres[:, 1]) * (centres[:, 0] - middle)
    return np.column_stack([centres[:, 0], rows, widths, heights])


def _sides(corners: Points) -> tuple[Points, Points]:
    """Mean lengths of the sides along and across the text."""
    sides = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
    return (sides[:, 0] + sides[:, 2]) / 2, (sides[:, 1] + sides[:, 3]) / 2


def _drift(heights: Points, slopes: Points, weights: Points) -> Callable[[Points], Points]:
    """The slope that a line at a given height has; zero when there are too few lines to say."""
    if len(heights) < _ENOUGH_LINES or np.ptp(heights) < 1.0:
        return lambda at: np.zeros_like(at)
    steepness, offset = np.polyfit(heights, np.tan(np.clip(slopes, -0.3, 0.3)), 1, w=weights)
    return lambda at: np.asarray(np.clip(steepness * at + offset, -0.2, 0.2))


def _rotation(angle: float) -> Points:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def _order(spans: list[Span]) -> list[Span]:
    if len(spans) < 2:
        return spans
    line_height = float(np.median([span.height for span in spans]))
    columns = _cut(spans, lambda span: (span.left, span.right), _COLUMN_GAP * line_height)
    if columns and min(map(len, columns)) >= 2 and not _is_table(*columns):
        return [*_order(columns[0]), *_order(columns[1])]
    blocks = _cut(spans, lambda span: (span.top, span.bottom), 0.0)
    if blocks:
        return [*_order(blocks[0]), *_order(blocks[1])]
    return _by_rows(spans)


def _cut(
    spans: Sequence[Span], extent: Callable[[Span], tuple[float, float]], least: float
) -> tuple[list[Span], list[Span]] | None:
    """Split at the widest empty strip across the extents; None when no strip is wider than `least`."""
    ordered = sorted(spans, key=extent)
    reached = extent(ordered[0])[1]
    widest, place = least, 0
    for position, span in enumerate(ordered[1:], start=1):
        start, end = extent(span)
        if start - reached > widest:
            widest, place = start - reached, position
        reached = max(reached, end)
    return (ordered[:place], ordered[place:]) if place else None


def _is_table(left: Sequence[Span], right: Sequence[Span]) -> bool:
    """Return whether the columns are one table: most of the right cells are figures beside a left cell."""
    with_figures = sum(span.has_digit for span in right)
    beside = sum(any(_share_row(cell, other) for other in left) for cell in right)
    return with_figures >= _TABLE_SHARE * len(right) and beside >= _TABLE_SHARE * len(right)


def _share_row(one: Span, other: Span) -> bool:
    overlap = min(one.bottom, other.bottom) - max(one.top, other.top)
    return overlap > _ROW_OVERLAP * min(one.height, other.height)


def _by_rows(spans: Sequence[Span]) -> list[Span]:
    rows: list[list[Span]] = []
    for span in sorted(spans, key=lambda span: span.top + span.bottom):
        if rows and _share_row(rows[-1][-1], span):
            rows[-1].append(span)
        else:
            rows.append([span])
    return [span for row in rows for span in sorted(row, key=lambda span: span.left)]


_HEIGHT, _LEAST_WIDTH = 48, 320
"""Pixels: the recogniser shrinks or stretches lines to this height and pads them to this width."""
_BATCH = 6
_BATCH_WIDTH = 9_600
"""Pixels of one batch, about half a second's work: nobody can stop it in between."""
_LONGEST = _BATCH_WIDTH // _HEIGHT
"""Times its height; at 400 characters in the width of a photo there is nothing left to read."""
_SAME_PRINT = 1.5
"""From one size of print to the next. Boxes of the same print differ by a tenth or two (what sticks out of a
line, the page's slant), and which of them are read must not hang on that: the commonest is mid-class.
"""


def most_useful(
    boxes: Sequence[Points], size: tuple[int, int], max_lines: int, max_text_width: int
) -> tuple[list[Points], int]:
    """The lines that are read, in the order given, and how many others there are.

    At most `max_lines`, and together at most `max_text_width` pixels wide at the recogniser's height. The
    largest print comes first (what is large is near, or meant to be seen), of equal print what is nearest the
    middle (the user looks there), so that of an even page one block is read, without gaps. `size`: the
    photo's height and width.
    """
    if not boxes:
        return [], 0
    corners = np.stack(boxes)
    sides = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
    shorter = np.maximum(np.minimum(sides[:, [0, 2]].max(axis=1), sides[:, [1, 3]].max(axis=1)), 1.0)
    longer = np.maximum(sides.max(axis=1), 1.0)
    text = longer <= _LONGEST * shorter
    widths = np.maximum(_LEAST_WIDTH, _HEIGHT * longer / shorter)
    print_sizes = np.round(np.log(shorter / np.median(shorter)) / np.log(_SAME_PRINT))
    away = np.linalg.norm(corners.mean(axis=1) - np.array(size[::-1]) / 2, axis=1)
    chosen: list[int] = []
    room = float(max_text_width)
    for place in np.lexsort((away, -print_sizes)).tolist():
        if text[place] and len(chosen) < max_lines and widths[place] <= room:
            chosen.append(place)
            room -= widths[place]
    return [boxes[place] for place in sorted(chosen)], int(text.sum()) - len(chosen)


def batches(sizes: Sequence[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """Places of lines that are read together: alike in shape, since all are padded to the widest of them.

    `sizes`: height and width of each line, laid flat.
    """
    ratios = np.array([width / height for height, width in sizes])
    batch: list[int] = []
    for place in np.argsort(ratios).tolist():  # rising, so that the new one is the widest
        width = max(_LEAST_WIDTH, _HEIGHT * ratios[place])
        if batch and (len(batch) == _BATCH or width * (len(batch) + 1) > _BATCH_WIDTH):
            yield tuple(batch)
            batch = []
        batch.append(place)
    if batch:
        yield tuple(batch)
