"""How much of a page is read, and in which pieces: every pixel of a line's width costs time."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]

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
    middle (the wearer looks there), so that of an even page one block is read, without gaps. `size`: the
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
