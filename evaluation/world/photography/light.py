"""Light, shadow, blur and sensor noise."""

from __future__ import annotations

import math
import random

import cv2
import numpy as np
from numpy.typing import NDArray

from evaluation.world.rendering import Pixels

Signal = NDArray[np.float32]


def cast_shadow(scene: Pixels, outline: NDArray[np.int32], rng: random.Random) -> Pixels:
    """A soft shadow of the outline on the scene."""
    height, width = scene.shape[:2]
    small = np.zeros((height // 8, width // 8), np.float32)
    offset = np.array([rng.randint(-30, 30), rng.randint(6, 36)])
    cv2.fillPoly(small, [((outline + offset) // 8).astype(np.int32)], 1.0)
    soft = cv2.resize(cv2.GaussianBlur(small, (0, 0), 2.5), (width, height))
    return (scene * (1 - rng.uniform(0.35, 0.6) * soft[..., None])).astype(np.uint8)


def lit(scene: Pixels, rng: random.Random) -> Signal:
    """A gradient, a spot and a colour cast over the whole picture."""
    height, width = scene.shape[:2]
    ys, xs = np.mgrid[0:1:32j, 0:1:24j].astype(np.float32)
    angle, depth = rng.random() * 2 * math.pi, rng.uniform(0.05, 0.3)
    ramp = 1 + depth * ((xs - 0.5) * math.cos(angle) + (ys - 0.5) * math.sin(angle)) * 1.4
    away = (xs - rng.random()) ** 2 + (ys - rng.random()) ** 2
    ramp = ramp + rng.uniform(0.0, 0.22) * np.exp(-away * 9)
    ramp = ramp * (1 - rng.uniform(0.05, 0.25) * ((xs - 0.5) ** 2 + (ys - 0.5) ** 2))
    field = cv2.resize(ramp.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR)
    warmth = rng.uniform(-0.07, 0.09)
    cast = np.array([1 + warmth, 1.0, 1 - warmth], np.float32) * np.float32(rng.uniform(0.86, 1.06))
    return np.asarray(scene.astype(np.float32) * field[..., None] * cast, dtype=np.float32)


def shaken(signal: Signal, length: float, rng: random.Random) -> Signal:
    """Motion blur of a length in pixels, in a random direction."""
    size = max(round(length) | 1, 3)
    kernel = np.zeros((size, size), np.float32)
    angle = rng.random() * math.pi
    reach = size // 2
    ends = [
        (round(reach + k * reach * math.cos(angle)), round(reach + k * reach * math.sin(angle)))
        for k in (-1, 1)
    ]
    cv2.line(kernel, ends[0], ends[1], 1.0, 1)
    blurred = cv2.filter2D(cv2.GaussianBlur(signal, (0, 0), 0.9), -1, kernel / kernel.sum())
    return np.asarray(blurred, dtype=np.float32)


def sensed(signal: Signal, noise: np.random.Generator, *, gain: float = 1.0, sigma: float = 4.0) -> Pixels:
    """What the sensor makes of the light: darkened by `gain`, with noise of `sigma` grey levels."""
    height, width = signal.shape[:2]
    luma = noise.standard_normal((height, width), dtype=np.float32)
    chroma = noise.standard_normal((height // 2, width // 2, 3), dtype=np.float32)
    colour = cv2.resize(chroma, (width, height), interpolation=cv2.INTER_LINEAR)
    total = signal * np.float32(gain) + sigma * (luma[..., None] + 0.6 * colour)
    return np.clip(total, 0, 255).astype(np.uint8)
