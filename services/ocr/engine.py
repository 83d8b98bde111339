"""What the routes need from an engine."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

RGB = NDArray[np.uint8]
"""(height, width, 3), 8 bits a channel."""

Quadrilateral = tuple[tuple[float, float], tuple[float, float], tuple[float, float], tuple[float, float]]
"""Corners as (x, y) pixels, clockwise, starting where the text starts at its top left."""


@dataclass(frozen=True, slots=True)
class RecognizedLine:
    """One line of text; `score` in 0..1 is the recogniser's mean confidence."""

    text: str
    score: float
    quadrilateral: Quadrilateral


class OcrEngine(Protocol):
    """Reads photos; implementations are synchronous, blocking and thread-safe."""

    name: str

    def read(self, image: RGB) -> tuple[RecognizedLine, ...]:
        """The lines of `image` in reading order; none is a normal outcome."""
        ...
