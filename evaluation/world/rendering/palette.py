"""Random palettes with enough contrast to read text on them."""

from __future__ import annotations

import colorsys
import random
from dataclasses import dataclass

Colour = tuple[int, int, int]
_LIGHT_ENOUGH = 140


@dataclass(frozen=True)
class Palette:
    """A ground, ink readable on it, and accents."""

    ground: Colour
    ink: Colour
    accents: tuple[Colour, ...]


def hsv(hue: float, saturation: float, value: float) -> Colour:
    """An RGB colour from hue, saturation and value in 0..1."""
    r, g, b = colorsys.hsv_to_rgb(hue % 1.0, saturation, value)
    return round(r * 255), round(g * 255), round(b * 255)


def luminance(colour: Colour) -> float:
    """Rec. 601 luma in 0..255."""
    return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]


def ink_for(ground: Colour, tint: float = 0.0) -> Colour:
    """Nearly black or nearly white, whichever reads better on the ground."""
    if luminance(ground) > _LIGHT_ENOUGH:
        return hsv(tint, 0.6, 0.16)
    return hsv(tint, 0.08, 0.97)


def palette(rng: random.Random, *, light: bool | None = None) -> Palette:
    """A palette around one hue with two or three accents elsewhere on the wheel."""
    hue = rng.random()
    bright = rng.random() < 0.6 if light is None else light
    if bright:
        ground = hsv(hue, rng.uniform(0.05, 0.35), rng.uniform(0.86, 0.97))
    else:
        ground = hsv(hue, rng.uniform(0.45, 0.85), rng.uniform(0.18, 0.42))
    steps = rng.choice(((0.5, 0.08), (0.33, 0.66), (0.12, 0.55), (0.42, 0.58)))
    accents = [hsv(hue + step, rng.uniform(0.5, 0.9), rng.uniform(0.5, 0.95)) for step in steps]
    accents.append(hsv(hue, rng.uniform(0.4, 0.8), rng.uniform(0.4, 0.9)))
    return Palette(ground, ink_for(ground, hue), tuple(accents))


def mixed(a: Colour, b: Colour, share: float) -> Colour:
    """`share` of b in a."""
    r, g, bl = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return r, g, bl
