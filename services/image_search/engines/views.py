"""A model's views of a photo: the centre, and both ends of a photo that is too long for the model's frame.

CLIP's preprocessing keeps the centre square only, and published indexes are made of such squares; a tall or
wide photo loses what stands at its ends, so a search looks there too. The first view is always the centre.

Runs in a bare environment: numpy and Pillow.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from PIL import Image

from chassis.rgb import RGB

ENDS_ABOVE = 1.25
"""A photo is long when its longer side, fitted, is more than this many frames."""


class Fit(StrEnum):
    """The way to fit a photo into the frame (open_clip's `resize_mode`)."""

    SHORTEST = "shortest"
    SQUASH = "squash"


@dataclass(frozen=True, slots=True)
class Frame:
    """The pixels that a model takes in."""

    height: int
    width: int
    fit: Fit = Fit.SHORTEST
    bicubic: bool = True


def framed_views(photo: RGB, frame: Frame, ends_above: float = ENDS_ABOVE) -> list[RGB]:
    """The views of a photo as (frame.height, frame.width, 3), the centre first.

    The centre equals what transformers' CLIPImageProcessor makes of the photo before it scales the values:
    resized whole, so that the pixels at the rim of the crop know their neighbours, then cropped.
    """
    height, width = photo.shape[:2]
    if frame.fit is Fit.SQUASH:
        return [_resize(photo, frame.height, frame.width, frame)]
    if frame.height * width >= frame.width * height:
        fitted = _resize(photo, frame.height, frame.height * width // height, frame)
    else:
        fitted = _resize(photo, frame.width * height // width, frame.width, frame)
    return _windows(fitted, frame.height, frame.width, ends_above)


def square_views(photo: RGB, max_side: int) -> list[RGB]:
    """The views of a photo as squares of its own pixels, scaled down to `max_side`, the centre first."""
    side = min(photo.shape[:2])
    squares = _windows(photo, side, side, ENDS_ABOVE)
    if side <= max_side:
        return squares
    return [_resize(square, max_side, max_side, Frame(max_side, max_side)) for square in squares]


def centres_first(views: Sequence[Sequence[RGB]]) -> list[tuple[int, RGB]]:
    """All views of all photos with their photo's index: every photo's centre before any photo's ends."""
    placed = [
        (place, index, view) for index, of_photo in enumerate(views) for place, view in enumerate(of_photo)
    ]
    return [(index, view) for _, index, view in sorted(placed, key=lambda each: (each[0] > 0, each[1]))]


def _windows(picture: RGB, height: int, width: int, ends_above: float) -> list[RGB]:
    down, across = picture.shape[0] - height, picture.shape[1] - width
    corners = [(down // 2, across // 2)]
    if max(picture.shape[0] / height, picture.shape[1] / width) > ends_above:
        corners += [(0, 0), (down, across)]
    return [picture[top : top + height, left : left + width] for top, left in corners]


def _resize(photo: RGB, height: int, width: int, frame: Frame) -> RGB:
    resampling = Image.Resampling.BICUBIC if frame.bicubic else Image.Resampling.BILINEAR
    return np.asarray(Image.fromarray(photo).resize((width, height), resampling))
