"""The engine's protocol and its types."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from PIL import Image, ImageDraw

from chassis.models.cancellation import require_caller
from chassis.rgb import RGB

Piece = TypeVar("Piece")

Quadrilateral = tuple[tuple[float, float], tuple[float, float], tuple[float, float], tuple[float, float]]
"""Corners as (x, y) pixels, clockwise, starting where the text starts at its top left."""


@dataclass(frozen=True, slots=True)
class RecognizedLine:
    """One line of text; `score` in 0..1 is the recogniser's mean confidence."""

    text: str
    score: float
    quadrilateral: Quadrilateral


@dataclass(frozen=True, slots=True)
class Page:
    """Lines in reading order; `left_out`: lines that were found, but too many to be read."""

    lines: tuple[RecognizedLine, ...]
    left_out: int = 0


class Progress:
    """The finished pieces of reading a photo, so that a later request does not wait for them again."""

    def __init__(self) -> None:
        self._done: dict[Hashable, Any] = {}

    def piece(self, name: Hashable, work: Callable[[], Piece]) -> Piece:
        """Return what `work` returns, or returned before. Raises `Abandoned` if the caller has left."""
        if name not in self._done:
            require_caller()
            self._done[name] = work()
        result: Piece = self._done[name]
        return result


class OcrEngine(Protocol):
    """Reads photos; implementations are synchronous, blocking and thread-safe."""

    name: str

    def read(self, image: RGB, progress: Progress | None = None) -> Page:
        """Return the lines of `image`, possibly none. `progress` of the same photo is not done again.

        Raises `Abandoned` between pieces of the work if the caller has left.
        """
        ...

    def probe(self) -> object:
        """Read a drawn word, so that every model has something to do."""
        picture = Image.new("RGB", (128, 64), "white")
        ImageDraw.Draw(picture).text((16, 16), "ready", fill="black", font_size=28)
        return self.read(np.asarray(picture))
