"""Paintings without any text: brush strokes that follow a flow field over a composition."""

from __future__ import annotations

import math
import random

import cv2
import numpy as np

from evaluation.world.rendering.canvas import Design, Pixels
from evaluation.world.rendering.ornament import botanical, mountains, rays, skyline, tiles, waves
from evaluation.world.rendering.palette import hsv, mixed, palette

_STROKES = 2600


def _abstract(rng: random.Random, width: int, height: int) -> Pixels:
    colours = palette(rng)
    field = np.full((height, width, 3), colours.ground, np.uint8)
    for _ in range(rng.randint(14, 30)):
        corners = np.array(
            [(rng.randint(0, width), rng.randint(0, height)) for _ in range(rng.choice((3, 4, 4)))]
        )
        shade = mixed(rng.choice(colours.accents), hsv(rng.random(), 0.7, 0.8), rng.random() * 0.7)
        if rng.random() < 0.5:
            cv2.fillPoly(field, [corners], shade, cv2.LINE_AA)
        else:
            radius = rng.randint(width // 20, width // 5)
            cv2.circle(field, tuple(map(int, corners[0])), radius, shade, -1, cv2.LINE_AA)
    return field


def _composition(rng: random.Random, width: int, height: int) -> Pixels:
    if rng.random() < 0.35:
        return _abstract(rng, width, height)
    scene = rng.choice((mountains, waves, skyline, botanical, rays, tiles))
    return scene(rng, width, height, palette(rng))


def brushed(rng: random.Random, ground: Pixels) -> Pixels:
    """Strokes in the colours of the ground, along a swirling field; height × width × 3."""
    height, width = ground.shape[:2]
    canvas = cv2.GaussianBlur(ground, (0, 0), 5)
    swirl, turn = rng.uniform(60, 160), rng.random() * 6
    for n in range(_STROKES):
        x, y = rng.randrange(width), rng.randrange(height)
        angle = turn + math.sin(x / swirl) * 1.8 + math.cos(y / swirl) * 1.8
        length = rng.uniform(10, 34) * (1.5 if n < _STROKES // 4 else 0.8)
        end = (round(x + length * math.cos(angle)), round(y + length * math.sin(angle)))
        jitter = rng.randint(-26, 26)
        r, g, b = (int(c) for c in ground[y, x])
        shade = (r + jitter, g + jitter + rng.randint(-12, 12), b + jitter)
        cv2.line(canvas, (x, y), end, shade, rng.randint(2, 7), cv2.LINE_AA)
    return np.asarray(canvas, dtype=np.uint8)


def _framed(rng: random.Random, painting: Pixels) -> Pixels:
    """The painting in a wooden or gilded frame."""
    width = rng.randint(26, 48)
    wood = hsv(rng.uniform(0.06, 0.13), rng.uniform(0.4, 0.8), rng.uniform(0.3, 0.75))
    tall, wide = painting.shape[0] + 2 * width, painting.shape[1] + 2 * width
    frame = np.full((tall, wide, 3), wood, np.uint8)
    for k in range(0, width, 3):
        shade = mixed(wood, (20, 12, 5), abs(math.sin(k / width * 5 + 0.4)) * 0.6)
        cv2.rectangle(frame, (k, k), (wide - 1 - k, tall - 1 - k), shade, 3)
    for corner in ((0, 0), (wide, 0), (0, tall), (wide, tall)):
        inner = (min(max(corner[0], width), wide - width), min(max(corner[1], width), tall - width))
        cv2.line(frame, corner, inner, mixed(wood, (0, 0, 0), 0.6), 2, cv2.LINE_AA)
    frame[width:-width, width:-width] = painting
    return frame


def painting(rng: random.Random) -> Design:
    """A framed painting of random format."""
    width, height = rng.choice(((760, 560), (560, 740), (660, 660), (820, 520)))
    work = brushed(rng, _composition(rng, width, height))
    framed = _framed(rng, work)
    alpha = np.full(framed.shape[:2], 255, np.uint8)
    return Design(np.dstack([framed, alpha]), {}, {})
