"""A drawing surface that fits text into boxes and remembers where each attribute was printed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from evaluation.world.rendering.lettering import Lettering, fitted, lettered
from evaluation.world.rendering.palette import Colour

Pixels = NDArray[np.uint8]
Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class Design:
    """The flat face of a thing.

    `picture` is height × width × 4 (RGBA, uint8); `regions` are boxes (left, top, right, bottom) in pixels
    by attribute, `sizes` the font sizes in pixels that they are printed in.
    """

    picture: Pixels
    regions: Mapping[str, Box]
    sizes: Mapping[str, int]


def stacked(
    rng: random.Random, box: Box, blocks: Sequence[tuple[str, float]], *, shuffle: bool = True, gap: int = 8
) -> dict[str, Box]:
    """Splits a box into rows by weight (each varied by a quarter), in random order unless told not to."""
    left, top, right, bottom = box
    order = list(blocks)
    if shuffle:
        rng.shuffle(order)
    weights = [weight * rng.uniform(0.78, 1.22) for _, weight in order]
    room = bottom - top - gap * (len(order) - 1)
    rows: dict[str, Box] = {}
    y = float(top)
    for (name, _), weight in zip(order, weights, strict=True):
        tall = room * weight / sum(weights)
        rows[name] = (left, round(y), right, round(y + tall))
        y += tall + gap
    return rows


class Canvas:
    """Draws on an RGB picture of the given size in pixels."""

    def __init__(self, width: int, height: int, ground: Colour | Pixels) -> None:
        if isinstance(ground, np.ndarray):
            self.image = Image.fromarray(ground).convert("RGB").resize((width, height))
        else:
            self.image = Image.new("RGB", (width, height), ground)
        self.draw = ImageDraw.Draw(self.image)
        self.width, self.height = width, height
        self.regions: dict[str, Box] = {}
        self.sizes: dict[str, int] = {}

    def text(
        self,
        text: str,
        box: Box,
        lettering: Lettering,
        fill: Colour,
        *,
        attribute: str = "",
        largest: int = 120,
        lines: int = 3,
    ) -> Box:
        """Prints text as large as fits the box and returns the box it really covers."""
        left, top, right, bottom = box
        size, broken = fitted(text, lettering, (right - left, bottom - top), largest, lines)
        mask = Image.fromarray(lettered(broken, lettering, size))
        room = right - left - mask.width
        x = left + {"left": 0, "right": room}.get(lettering.align, room // 2)
        y = top + max((bottom - top - mask.height) // 2, 0)
        self.image.paste(Image.new("RGB", mask.size, fill), (x, y), mask)
        covered = (x, y, x + mask.width, y + mask.height)
        if attribute:
            self.mark(attribute, covered, size)
        return covered

    def mark(self, attribute: str, box: Box, size: int) -> None:
        """Remembers that the attribute is printed in the box, in that font size."""
        self.regions[attribute] = box
        self.sizes[attribute] = size

    def picture(self, pixels: Pixels, box: Box) -> None:
        """Places an RGB picture in the box."""
        left, top, right, bottom = box
        if right > left and bottom > top:
            self.image.paste(Image.fromarray(pixels).resize((right - left, bottom - top)), (left, top))

    def band(self, box: Box, fill: Colour, rng: random.Random, *, outline: Colour | None = None) -> None:
        """A panel behind text: square, rounded, elliptic, slanted or a ribbon."""
        left, top, right, bottom = box
        shape, width = rng.randrange(5), rng.choice((3, 5, 8)) if outline else 0
        if shape == 0:
            self.draw.rectangle(box, fill=fill, outline=outline, width=width)
        elif shape == 1:
            self.draw.rounded_rectangle(box, rng.randint(10, 40), fill=fill, outline=outline, width=width)
        elif shape == 2:
            wide, tall = (right - left) * 0.08, (bottom - top) * 0.16
            ends = (left - wide, top - tall, right + wide, bottom + tall)
            self.draw.ellipse(ends, fill=fill, outline=outline, width=width)
        elif shape == 3:
            lean = rng.randint(8, 26)
            corners = ((left + lean, top), (right, top), (right - lean, bottom), (left, bottom))
            self.draw.polygon(corners, fill=fill, outline=outline, width=width)
        else:
            notch, middle = rng.randint(12, 34), (top + bottom) // 2
            corners6 = (
                (left, top), (right, top), (right - notch, middle),
                (right, bottom), (left, bottom), (left + notch, middle),
            )  # fmt: skip
            self.draw.polygon(corners6, fill=fill, outline=outline, width=width)

    def finish(self, rng: random.Random, *, corner: int = 0, grain: float = 5.0) -> Design:
        """The design with paper grain; `corner` is the radius of rounded corners in pixels."""
        pixels = np.asarray(self.image, dtype=np.int16)
        noise = np.random.default_rng(rng.getrandbits(32)).normal(0.0, grain, pixels.shape[:2])
        grainy = np.clip(pixels + noise[..., None], 0, 255).astype(np.uint8)
        mask = Image.new("L", (self.width, self.height), 255)
        if corner:
            mask = Image.new("L", (self.width, self.height), 0)
            ends = (0, 0, self.width - 1, self.height - 1)
            ImageDraw.Draw(mask).rounded_rectangle(ends, corner, fill=255)
        return Design(np.dstack([grainy, np.asarray(mask)]), dict(self.regions), dict(self.sizes))
