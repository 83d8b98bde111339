"""Places in a photo. Pixels, origin at the top left, x to the right, y down."""

from contracts.message import Message


class Point(Message):
    """A pixel position; sub-pixel values are allowed."""

    x: float
    y: float


class Box(Message):
    """An axis-aligned rectangle; `right` and `bottom` are exclusive."""

    left: float
    top: float
    right: float
    bottom: float
