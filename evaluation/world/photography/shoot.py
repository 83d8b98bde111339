"""Takes the photos: a thing in a scene, as a wearer would, and for the catalogue."""

from __future__ import annotations

import random
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from evaluation.world.photography import clutter, light, surfaces
from evaluation.world.photography.camera import (
    Matrix,
    Pose,
    bent,
    box_corners,
    cut_off,
    hand_held,
    homography,
    inside,
    magnification,
    mapped,
    outline,
    turned,
)
from evaluation.world.plan import Plan
from evaluation.world.questions.session import Quality, Shot
from evaluation.world.rendering import Box, Design, Pixels
from evaluation.world.rendering.palette import hsv

FRAME = (960, 1280)
CATALOGUE_FRAME = (520, 640)
_WALL_KINDS = {"painting", "poster", "plaque", "shop"}
_SOFT_KINDS = {"book", "menu", "worksheet", "seeds", "food"}
_HELD_KINDS = {"book", "food", "gadget", "seeds", "menu"}
_BLUR_SHARE, _BLUR_LIMITS = 0.24, (5.0, 11.0)


def take(plan: Plan, shot: Shot, kind: str, design: Design) -> Pixels:
    """The upright photo of a shot, 1280 × 960 × 3; attributes in `shot.shows` stay readable in it."""
    rng = plan.stream("photo", shot.name)
    noise = plan.noise("photo", shot.name)
    boxes = [design.regions[a] for a in sorted(shot.shows) if a in design.regions]
    pose = _pose(shot.quality, design, boxes, rng)
    matrix = homography(pose, design, FRAME)
    scene = street(rng, noise, matrix, design) if kind == "shop" else _scene(kind, rng, noise)
    if kind != "shop":
        scene = light.cast_shadow(scene, outline(matrix, design), rng)
    picture = bent(design.picture, rng) if kind in _SOFT_KINDS and rng.random() < 0.5 else design.picture
    scene = _placed(scene, picture, matrix)
    if kind in _HELD_KINDS and rng.random() < 0.4:
        _hold(scene, matrix, design, boxes, rng)
    if shot.quality is Quality.OCCLUDED:
        scene = _covered(scene, matrix, design, boxes, rng)
    return _exposed(scene, shot.quality, _smallest_text(design, shot, matrix), rng, noise)


def text_height(design: Design, matrix: Matrix, attribute: str) -> float:
    """Font size of an attribute in photo pixels."""
    return design.sizes[attribute] * magnification(matrix, design.regions[attribute])


def pose_of(plan: Plan, shot: Shot, design: Design) -> Pose:
    """The pose that `take` uses, for those who want to know where things are in the photo."""
    rng = plan.stream("photo", shot.name)
    boxes = [design.regions[a] for a in sorted(shot.shows) if a in design.regions]
    return _pose(shot.quality, design, boxes, rng)


def catalogue_picture(plan: Plan, key: str, design: Design) -> Pixels:
    """The same design, clean and frontal before a plain backdrop, 640 × 520 × 3."""
    rng, noise = plan.stream("catalogue", key), plan.noise("catalogue", key)
    pose = Pose(rng.uniform(-5, 5), rng.uniform(-4, 4), rng.uniform(-2.5, 2.5), rng.uniform(0.84, 0.94))
    matrix = homography(pose, design, CATALOGUE_FRAME)
    width, height = CATALOGUE_FRAME
    tint = hsv(rng.random(), rng.uniform(0.0, 0.12), rng.uniform(0.8, 0.98))
    backdrop = np.full((height, width, 3), tint, np.uint8)
    scene = _placed(light.cast_shadow(backdrop, outline(matrix, design), rng), design.picture, matrix)
    return light.sensed(light.lit(scene, rng), noise, sigma=1.5)


def _pose(quality: Quality, design: Design, boxes: list[Box], rng: random.Random) -> Pose:
    pose = hand_held(rng)
    if quality is Quality.ROTATED:
        return turned(pose, rng)
    if quality is Quality.TRUNCATED:
        return cut_off(pose, design, boxes, FRAME, rng)
    height, width = design.picture.shape[:2]
    if inside(homography(pose, design, FRAME), [(0, 0, width, height)], FRAME, margin=4):
        return pose
    return replace(pose, centre=(0.5, 0.5))


def _scene(kind: str, rng: random.Random, noise: np.random.Generator) -> Pixels:
    wall = kind in _WALL_KINDS
    surface = rng.choice(surfaces.WALLS if wall else surfaces.TABLES)
    scene = np.ascontiguousarray(surface(rng, noise, *FRAME))
    clutter.scatter(scene, rng, wall=wall)
    return scene


def street(rng: random.Random, noise: np.random.Generator, matrix: Matrix, design: Design) -> Pixels:
    """A street around a shop front: sky, neighbouring walls at the same height, pavement."""
    width, height = FRAME
    scene = surfaces.plaster(rng, noise, width, height)
    corners = outline(matrix, design)
    low, high = corners.min(axis=0), corners.max(axis=0)
    roof, ground = max(int(low[1]) - rng.randint(20, 160), 40), int(high[1])
    sky = hsv(rng.uniform(0.52, 0.62), rng.uniform(0.05, 0.4), rng.uniform(0.75, 0.97))
    scene[:roof] = sky
    pavement = surfaces.stone(rng, noise, width, height)
    scene[ground:] = pavement[ground:] // 2 + 40
    for x in (int(low[0]) - 4, int(high[0]) + 4):
        cv2.line(scene, (x, roof), (x, ground), (60, 56, 52), 5)
    for x in range(rng.randrange(60, 160), width, rng.randint(150, 220)):
        top = (x, max(roof + 24, 30))
        glass = hsv(rng.uniform(0.5, 0.6), 0.25, rng.uniform(0.25, 0.6))
        cv2.rectangle(scene, top, (x + 80, top[1] + 120), glass, -1)
        cv2.rectangle(scene, top, (x + 80, top[1] + 120), (225, 225, 220), 6)
    cv2.line(scene, (0, ground), (width, ground), (70, 70, 70), 6)
    return scene


def _placed(scene: Pixels, picture: Pixels, matrix: Matrix) -> Pixels:
    """The picture warped onto the scene; it is shrunk first so that nothing aliases."""
    height, width = picture.shape[:2]
    scale = magnification(matrix, (0, 0, width, height))
    if scale < 0.95:
        size = (max(round(width * scale), 1), max(round(height * scale), 1))
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
        matrix = matrix @ np.diag([width / size[0], height / size[1], 1.0])
    frame = (scene.shape[1], scene.shape[0])
    warped = cv2.warpPerspective(picture, matrix, frame, flags=cv2.INTER_LINEAR)
    alpha = warped[..., 3:].astype(np.float32) / 255
    return (scene * (1 - alpha) + warped[..., :3] * alpha).astype(np.uint8)


def _mask(matrix: Matrix, boxes: list[Box], shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Where the boxes are in the photo."""
    marks = np.zeros(shape, np.uint8)
    for box in boxes:
        corners = mapped(matrix, box_corners(box)).round().astype(np.int32)
        cv2.fillPoly(marks, [corners], 255)
        cv2.polylines(marks, [corners], True, 255, 14)
    return marks > 0


def _hold(scene: Pixels, matrix: Matrix, design: Design, boxes: list[Box], rng: random.Random) -> None:
    """A thumb over the left or right edge, unless it would hide what is asked about."""
    height, width = design.picture.shape[:2]
    side = rng.choice((0, 1))
    y = rng.uniform(0.55, 0.85) * height
    reach = 0.09 * width
    tip_x = reach if side == 0 else width - reach
    base_x = -0.35 * width if side == 0 else 1.35 * width
    tip, base = mapped(matrix, [(tip_x, y), (base_x, y + 0.12 * height)]).round().astype(int).tolist()
    thickness = round(0.085 * width * magnification(matrix, (0, 0, width, height)))
    shape = (scene.shape[0], scene.shape[1])
    trial = np.zeros(shape, np.uint8)
    cv2.line(trial, tuple(base), tuple(tip), 255, thickness + 10)
    if not (trial[_mask(matrix, boxes, shape)] > 0).any():
        clutter.finger(scene, tuple(base), tuple(tip), thickness, rng)


def _covered(scene: Pixels, matrix: Matrix, design: Design, boxes: list[Box], rng: random.Random) -> Pixels:
    """Something before the thing that hides 8 to 35 % of it but not what is asked about."""
    shape = (scene.shape[0], scene.shape[1])
    kept = _mask(matrix, boxes, shape)
    corners = outline(matrix, design)
    body = np.zeros(shape, np.uint8)
    cv2.fillPoly(body, [corners], 255)
    whole = max(int((body > 0).sum()), 1)
    low, high = corners.min(axis=0), corners.max(axis=0)
    for attempt in range(60):
        at = (rng.randint(int(low[0]), int(high[0])), rng.randint(int(low[1]), int(high[1])))
        radius = round(rng.uniform(0.2, 0.34) * (1 - attempt / 90) * float(np.min(high - low)))
        layer, where = clutter.obstacle(shape, at, radius, rng)
        hidden = int((where & (body > 0)).sum()) / whole
        least = 0.06 if attempt < 40 else 0.02
        if least <= hidden <= 0.35 and not (where & kept).any():
            result = scene.copy()
            result[where] = layer[where]
            return result
    return scene


def _smallest_text(design: Design, shot: Shot, matrix: Matrix) -> float:
    heights = [text_height(design, matrix, a) for a in shot.shows if a in design.sizes]
    return min(heights, default=60.0)


def _exposed(
    scene: Pixels, quality: Quality, smallest: float, rng: random.Random, noise: np.random.Generator
) -> Pixels:
    signal = light.lit(scene, rng)
    if quality is Quality.LOW_LIGHT:
        return light.sensed(signal, noise, gain=rng.uniform(0.22, 0.34), sigma=rng.uniform(2.5, 4))
    if quality is Quality.BLURRED:
        length = min(max(smallest * _BLUR_SHARE, _BLUR_LIMITS[0]), _BLUR_LIMITS[1])
        signal = light.shaken(signal, length, rng)
    else:
        signal = np.asarray(cv2.GaussianBlur(signal, (0, 0), rng.uniform(0.45, 0.8)), np.float32)
    return light.sensed(signal, noise, sigma=rng.uniform(2.0, 4.5))
