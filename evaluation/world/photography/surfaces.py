"""What things lie on or hang on: table tops, cloth, floors and walls."""

from __future__ import annotations

import random
from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from evaluation.world.rendering import Pixels
from evaluation.world.rendering.palette import Colour, hsv

Surface = Callable[[random.Random, np.random.Generator, int, int], Pixels]


def _clouds(
    noise: np.random.Generator, width: int, height: int, cells_x: int, cells_y: int
) -> NDArray[np.float32]:
    """Smooth noise in about -1..1 from a coarse grid."""
    coarse = noise.standard_normal((cells_y, cells_x)).astype(np.float32)
    smooth = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.asarray(smooth, dtype=np.float32)


def _tinted(field: NDArray[np.float32], colour: Colour, strength: float) -> Pixels:
    base = np.array(colour, np.float32)
    return np.clip(base * (1 + strength * field[..., None]), 0, 255).astype(np.uint8)


def wood(rng: random.Random, noise: np.random.Generator, width: int, height: int) -> Pixels:
    """A table top of boards with grain."""
    grain = _clouds(noise, width, height, rng.randint(70, 130), 4)
    knots = _clouds(noise, width, height, 5, 4)
    field = 0.5 * np.sin(6 * knots + 5 * grain).astype(np.float32) + 0.4 * grain
    colour = hsv(rng.uniform(0.05, 0.11), rng.uniform(0.35, 0.65), rng.uniform(0.4, 0.85))
    boards = _tinted(field, colour, 0.13)
    gap = rng.randint(150, 320)
    for x in range(rng.randrange(gap), width, gap):
        cv2.line(boards, (x, 0), (x, height), tuple(c // 3 for c in colour), 3)
    return (
        boards
        if rng.random() < 0.5
        else np.ascontiguousarray(cv2.resize(boards.transpose(1, 0, 2), (width, height)))
    )


def cloth(rng: random.Random, noise: np.random.Generator, width: int, height: int) -> Pixels:
    """Checked or striped cloth."""
    period = rng.choice((30, 44, 70))
    colour = hsv(rng.random(), rng.uniform(0.1, 0.6), rng.uniform(0.55, 0.95))
    xs = (np.arange(width) // period % 2).astype(np.float32)
    ys = (np.arange(height) // period % 2).astype(np.float32)
    field = xs[None, :] + (ys[:, None] if rng.random() < 0.6 else 0.0)
    weave = _clouds(noise, width, height, width // 4, height // 4)
    return _tinted((field - 1.0).astype(np.float32) * 0.8 + weave * 0.15, colour, 0.3)


def stone(rng: random.Random, noise: np.random.Generator, width: int, height: int) -> Pixels:
    """A stone or laminate counter with veins and speckles."""
    veins = np.abs(np.sin(3 * _clouds(noise, width, height, 7, 9)))
    speckle = _clouds(noise, width, height, width // 6, height // 6)
    colour = hsv(rng.random(), rng.uniform(0.0, 0.15), rng.uniform(0.35, 0.92))
    return _tinted((veins * 0.7 + speckle * 0.3).astype(np.float32), colour, 0.16)


def carpet(rng: random.Random, noise: np.random.Generator, width: int, height: int) -> Pixels:
    """A coarse carpet."""
    pile = _clouds(noise, width, height, width // 3, height // 3)
    wear = _clouds(noise, width, height, 5, 6)
    colour = hsv(rng.random(), rng.uniform(0.2, 0.6), rng.uniform(0.3, 0.7))
    return _tinted(pile * 0.5 + wear * 0.5, colour, 0.22)


def plaster(rng: random.Random, noise: np.random.Generator, width: int, height: int) -> Pixels:
    """A painted wall."""
    field = _clouds(noise, width, height, 6, 8) * 0.5 + _clouds(noise, width, height, 200, 260) * 0.4
    colour = hsv(rng.random(), rng.uniform(0.02, 0.2), rng.uniform(0.6, 0.95))
    return _tinted(field, colour, 0.07)


def bricks(rng: random.Random, noise: np.random.Generator, width: int, height: int) -> Pixels:
    """A brick wall."""
    wall = plaster(rng, noise, width, height)
    tall, wide = rng.choice((34, 44)), rng.choice((90, 120))
    hue = rng.uniform(0.0, 0.09)
    for row, y in enumerate(range(0, height, tall)):
        for x in range(-(wide // 2) * (row % 2), width, wide):
            shade = hsv(hue, rng.uniform(0.3, 0.55), rng.uniform(0.45, 0.75))
            cv2.rectangle(wall, (x + 3, y + 3), (x + wide - 4, y + tall - 4), shade, -1)
    field = _clouds(noise, width, height, width // 4, height // 4)[..., None]
    return np.clip(wall * (1 + 0.06 * field), 0, 255).astype(np.uint8)


TABLES: tuple[Surface, ...] = (wood, cloth, stone, carpet, wood)
WALLS: tuple[Surface, ...] = (plaster, bricks, plaster, stone)
