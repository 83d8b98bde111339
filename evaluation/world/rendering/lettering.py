"""Ways to letter a text: a face, stretched, slanted, arched, weighted, so that few designs share glyphs."""

from __future__ import annotations

import importlib
import math
import random
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

_BOLD = (
    "RobotoBold", "RobotoBlack", "RobotoBoldItalic", "RobotoMedium", "ManropeBold", "ManropeExtraBold",
    "SourceSansProBold", "SourceSansProBlack", "SourceSansProSemibold", "SourceSansProBoldIt",
    "SourceSerifProBold", "SourceSerifProBlack", "SourceSerifProBoldIt", "SourceSerifProSemiboldIt",
    "CaladeaBold", "CaladeaBoldItalic", "FredokaOne",
)  # fmt: skip
_PLAIN = (
    "Roboto", "RobotoMedium", "RobotoItalic", "Manrope", "ManropeSemiBold", "SourceSansPro",
    "SourceSansProSemibold", "SourceSansProSemiboldIt", "SourceSerifPro", "SourceSerifProSemibold",
    "SourceSerifProIt", "Caladea", "CaladeaItalic",
)  # fmt: skip
LINE = 1.16


@dataclass(frozen=True)
class Lettering:
    """How a text is drawn.

    `stretch` scales widths, `slant` leans (pixels of x per pixel of height), `arch` bends the baseline by
    that share of the font size, `stroke` thickens by that share of it, `align` is left, center or right.
    """

    face: str
    stretch: float = 1.0
    slant: float = 0.0
    arch: float = 0.0
    stroke: float = 0.0
    align: str = "center"


def headline(rng: random.Random, *, align: str = "center") -> Lettering:
    """Lettering for names and titles."""
    return Lettering(
        rng.choice(_BOLD),
        rng.uniform(0.82, 1.22),
        rng.choice((0.0, rng.uniform(-0.1, 0.3))),
        rng.choice((0.0, rng.uniform(-0.35, 0.35))),
        rng.choice((0.0, 0.0, rng.uniform(0.01, 0.04))),
        align,
    )


def body(rng: random.Random, *, align: str = "center") -> Lettering:
    """Lettering for everything else: plainer, never arched."""
    face = rng.choice(_PLAIN + _BOLD[:10])
    return Lettering(face, rng.uniform(0.86, 1.16), rng.choice((0.0, 0.0, rng.uniform(0, 0.2))), align=align)


@lru_cache(maxsize=1024)
def font(face: str, size: int) -> ImageFont.FreeTypeFont:
    """A font of the `fonts` package by its name there, at a pixel size."""
    path = getattr(importlib.import_module("fonts.ttf"), face)
    return ImageFont.truetype(str(path), size)


def _wrapped(text: str, face: ImageFont.FreeTypeFont, width: float) -> list[str] | None:
    lines: list[str] = []
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and face.getlength(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(word)
        if face.getlength(lines[-1]) > width:
            return None
    return lines


def fitted(
    text: str, lettering: Lettering, room: tuple[int, int], largest: int, lines: int
) -> tuple[int, list[str]]:
    """The largest font size (pixels) at which the text fits the room (width, height), and its lines."""
    size = largest
    while size > 12:
        bend = abs(lettering.arch) * size
        width = (room[0] - abs(lettering.slant) * size * lines - 4) / lettering.stretch
        broken = _wrapped(text, font(lettering.face, size), width)
        if broken and len(broken) <= lines and LINE * size * len(broken) + bend <= room[1]:
            return size, broken
        size = max(12, min(size - 1, round(size * 0.94)))
    return size, [text]


def lettered(broken: list[str], lettering: Lettering, size: int) -> NDArray[np.uint8]:
    """The lines as a coverage mask, height × width in 0..255."""
    face, stroke = font(lettering.face, size), round(lettering.stroke * size)
    widths = [face.getlength(line) for line in broken]
    wide, tall = math.ceil(max(widths)) + 2 * stroke + 2, math.ceil(LINE * size * len(broken)) + 2 * stroke
    mask = Image.new("L", (wide, tall), 0)
    draw = ImageDraw.Draw(mask)
    for n, (line, width) in enumerate(zip(broken, widths, strict=True)):
        x = {"left": 0.0, "right": wide - width - 2}.get(lettering.align, (wide - width) / 2)
        draw.text((x + stroke, n * LINE * size), line, font=face, fill=255, stroke_width=stroke)
    return _shaped(np.asarray(mask), lettering, size)


def _shaped(mask: NDArray[np.uint8], lettering: Lettering, size: int) -> NDArray[np.uint8]:
    if lettering.stretch == 1.0 and lettering.slant == 0.0 and lettering.arch == 0.0:
        return mask
    tall, wide = mask.shape
    lean, bend = abs(lettering.slant) * tall, abs(lettering.arch) * size
    width, height = math.ceil(wide * lettering.stretch + lean), math.ceil(tall + bend)
    xs, ys = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    across = (xs / width - 0.5) * 2
    lift = bend * across**2 if lettering.arch > 0 else bend * (1 - across**2)
    y = ys - lift
    shift = lettering.slant * (tall - y) if lettering.slant > 0 else lettering.slant * -1 * y
    x = (xs - shift) / lettering.stretch
    shaped = cv2.remap(mask, x.astype(np.float32), y.astype(np.float32), cv2.INTER_LINEAR, borderValue=0)
    return np.asarray(shaped, dtype=np.uint8)
