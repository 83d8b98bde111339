"""Photographs of a flat thing as a wearer takes them: place, perspective, light, defects of the camera."""

from dataclasses import dataclass

import cv2
import numpy as np

from services.image_search.classical.features import RGB, Floats
from services.image_search.training.designs import Rng, noise


@dataclass(frozen=True, slots=True)
class Shot:
    """How hard the shot is: `tilt` moves corners by this share of the side; `size` is the thing's share
    of the frame; the rest are chances of a defect.
    """

    tilt: float = 0.12
    size: tuple[float, float] = (0.35, 0.9)
    low_light: float = 0.15
    blurred: float = 0.15
    occluded: float = 0.15
    turned: float = 0.2


CATALOGUE = Shot(tilt=0.02, size=(0.8, 1.0), low_light=0.0, blurred=0.0, occluded=0.0, turned=0.0)
WEARER = Shot()


def photograph(rng: Rng, thing: RGB, shot: Shot, long_side: int = 960) -> RGB:
    """The thing in a cluttered scene, with the shot's defects, as JPEG leaves it."""
    width, height = (long_side, long_side * 3 // 4) if rng.random() < 0.5 else (long_side * 3 // 4, long_side)
    scene = clutter(rng, width, height) if shot.tilt > 0.05 else _plain(rng, width, height)
    corners = _placed(rng, thing, shot, width, height)
    tall, wide = thing.shape[:2]
    source = np.array([[0, 0], [wide, 0], [wide, tall], [0, tall]], np.float32)
    model = cv2.getPerspectiveTransform(source, corners)
    laid = cv2.warpPerspective(thing, model, (width, height), flags=cv2.INTER_AREA)
    mask = np.zeros((height, width), np.uint8)
    cv2.fillConvexPoly(mask, np.rint(corners).astype(np.int32), 255, cv2.LINE_AA)
    share = mask[..., None].astype(np.float32) / 255
    photo = scene * (1 - share) + laid * share
    if rng.random() < shot.occluded:
        _occlude(rng, photo, corners)
    return develop(rng, photo, shot)


def develop(rng: Rng, photo: Floats, shot: Shot) -> RGB:
    """Light, blur, sensor noise and JPEG. `photo` (H, W, 3) in [0, 255]."""
    height, width = photo.shape[:2]
    light = 0.75 + 0.5 * noise(rng, width, height, max(width, height) // 2)[..., None]
    dim = rng.uniform(0.12, 0.35) if rng.random() < shot.low_light else rng.uniform(0.75, 1.15)
    photo = np.clip(photo, 0, 255) * light * dim * rng.uniform(0.9, 1.1, 3).astype(np.float32)
    if rng.random() < shot.blurred:
        photo = _blur(rng, photo)
    photo = photo + rng.normal(0, rng.uniform(1, 6), photo.shape)
    rough = np.clip(photo, 0, 255).astype(np.uint8)
    _, data = cv2.imencode(".jpg", rough, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(55, 93))])
    developed: RGB = np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
    return developed


def clutter(rng: Rng, width: int, height: int) -> Floats:
    """A room-like background: soft ground, boards, boxes and strokes."""
    ground = rng.uniform(30, 220, 3).astype(np.float32)
    scene = ground + (noise(rng, width, height, 120)[..., None] - 0.5) * 80
    scene = scene + (noise(rng, width, height, 4)[..., None] - 0.5) * rng.uniform(5, 40)
    scene = np.ascontiguousarray(scene, np.float32)
    for _ in range(int(rng.integers(5, 30))):
        colour = tuple(float(value) for value in rng.uniform(10, 245, 3))
        start, end = (rng.integers(0, (width, height)).tolist() for _ in range(2))
        if rng.random() < 0.5:
            cv2.rectangle(scene, start, (start[0] + end[0] // 4, start[1] + end[1] // 4), colour, -1)
        else:
            cv2.line(scene, start, end, colour, int(rng.integers(1, 12)), cv2.LINE_AA)
    return scene


def _plain(rng: Rng, width: int, height: int) -> Floats:
    scene = np.empty((height, width, 3), np.float32)
    scene[:] = rng.uniform(150, 250, 3)
    return scene


def _placed(rng: Rng, thing: RGB, shot: Shot, width: int, height: int) -> Floats:
    """Corners (4, 2) of the thing in the frame, clockwise from its top left."""
    tall, wide = thing.shape[:2]
    scale = min(width / wide, height / tall) * rng.uniform(*shot.size)
    half = np.array([[-wide, -tall], [wide, -tall], [wide, tall], [-wide, tall]]) * scale / 2
    half = half + rng.uniform(-1, 1, (4, 2)) * shot.tilt * scale * min(wide, tall)
    spread = np.pi / 2 if rng.random() < shot.turned else np.pi / 24
    turn = rng.uniform(-spread, spread)
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    room = np.maximum(0, np.array([width, height]) - np.array([wide, tall]) * scale)
    centre = np.array([width, height]) / 2 + rng.uniform(-0.5, 0.5, 2) * room
    return np.asarray(half @ rotation + centre, np.float32)


def _occlude(
    rng: Rng,
    photo: Floats,
    corners: Floats,
) -> None:
    """Fingers or a cup in front of the thing."""
    size = float(np.linalg.norm(corners[1] - corners[0]))
    for _ in range(int(rng.integers(1, 4))):
        share = rng.dirichlet(np.ones(4))
        x, y = (int(value) for value in share @ corners)
        axes = (int(size * rng.uniform(0.08, 0.2)), int(size * rng.uniform(0.1, 0.3)))
        colour = tuple(float(value) for value in rng.uniform(60, 220, 3))
        cv2.ellipse(photo, (x, y), axes, float(rng.uniform(0, 180)), 0, 360, colour, -1, cv2.LINE_AA)


def _blur(rng: Rng, photo: Floats) -> Floats:
    """Out of focus, or shaken along a line."""
    if rng.random() < 0.5:
        return np.asarray(cv2.GaussianBlur(photo, (0, 0), float(rng.uniform(1, 2.5))), np.float32)
    length = int(rng.integers(5, 13))
    kernel = np.zeros((length, length), np.float32)
    kernel[length // 2] = 1 / length
    turn = cv2.getRotationMatrix2D((length / 2 - 0.5, length / 2 - 0.5), float(rng.uniform(0, 180)), 1)
    turned = np.asarray(cv2.warpAffine(kernel, turn, (length, length)), np.float32)
    return np.asarray(cv2.filter2D(photo, -1, turned / max(float(turned.sum()), 1e-6)), np.float32)
