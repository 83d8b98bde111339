"""Scenes of one card on a table with known corners."""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Scene:
    """`corners` (4, 2), clockwise from the card's own top left."""

    photo: npt.NDArray[np.uint8]
    corners: Array


def card(rng: np.random.Generator, width: int = 420, height: int = 600) -> Array:
    """A cover: a ground, a frame, a few shapes and a title."""
    ground, ink = rng.integers(140, 240, 3), rng.integers(0, 90, 3)
    drawn = np.full((height, width, 3), ground, np.uint8)
    cv2.rectangle(drawn, (30, 30), (width - 30, height - 30), ink.tolist(), 4)
    for _ in range(12):
        centre = rng.integers((80, 200), (width - 80, height - 80)).tolist()
        cv2.circle(drawn, centre, int(rng.integers(8, 50)), rng.integers(0, 255, 3).tolist(), -1)
    cv2.putText(drawn, "HARBOUR", (60, 130), cv2.FONT_HERSHEY_DUPLEX, 2.0, ink.tolist(), 4)
    return drawn


def scene(seed: int, width: int = 960, height: int = 1280) -> Scene:
    """The card seen at an angle on a darker, uneven, noisy table."""
    rng = np.random.default_rng(seed)
    drawn = card(rng)
    tall, wide = drawn.shape[:2]
    scale = rng.uniform(0.9, 1.4)
    half = np.array([[-wide, -tall], [wide, -tall], [wide, tall], [-wide, tall]]) * scale / 2
    half = half + rng.uniform(-40, 40, (4, 2))
    turn = rng.uniform(-0.35, 0.35)
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    corners = (half @ rotation + np.array([width, height]) / 2).astype(np.float32)
    source = np.array([[0, 0], [wide, 0], [wide, tall], [0, tall]], np.float32)
    table = np.full((height, width, 3), rng.integers(30, 110, 3), np.float32)
    patches = rng.uniform(-25, 25, (height // 160, width // 160, 3)).astype(np.float32)
    table += np.asarray(cv2.resize(patches, (width, height), interpolation=cv2.INTER_CUBIC))
    model = cv2.getPerspectiveTransform(source, corners)
    laid = np.asarray(cv2.warpPerspective(drawn.astype(np.float32), model, (width, height)))
    mask = np.asarray(cv2.warpPerspective(np.ones((tall, wide), np.float32), model, (width, height)))
    photo = table * (1 - mask[..., None]) + laid * mask[..., None]
    noisy = photo + rng.normal(0, 4, photo.shape)
    return Scene(np.clip(noisy, 0, 255).astype(np.uint8), corners)
