"""Other objects in the scene, and hands."""

from __future__ import annotations

import math
import random

import cv2
import numpy as np
from numpy.typing import NDArray

from evaluation.world.rendering import Pixels
from evaluation.world.rendering.ornament import illustration
from evaluation.world.rendering.palette import Colour, hsv, mixed, palette

Point = tuple[int, int]
_SKINS: tuple[Colour, ...] = ((232, 190, 160), (198, 146, 110), (141, 96, 66), (92, 62, 44), (246, 212, 188))


def _mug(scene: Pixels, at: Point, rng: random.Random) -> None:
    radius, colour = rng.randint(60, 110), hsv(rng.random(), rng.uniform(0.1, 0.7), rng.uniform(0.4, 0.95))
    handle = (at[0] + radius, at[1] + rng.randint(-20, 20))
    cv2.ellipse(scene, handle, (radius // 2, radius // 3), 0, 0, 360, colour, 16, cv2.LINE_AA)
    cv2.circle(scene, at, radius, colour, -1, cv2.LINE_AA)
    cv2.circle(scene, at, radius - 12, mixed(colour, (0, 0, 0), 0.35), -1, cv2.LINE_AA)
    cv2.circle(scene, at, radius - 18, (70, 44, 26), -1, cv2.LINE_AA)


def _pen(scene: Pixels, at: Point, rng: random.Random) -> None:
    angle, length = rng.random() * math.pi, rng.randint(160, 300)
    end = (round(at[0] + length * math.cos(angle)), round(at[1] + length * math.sin(angle)))
    colour = hsv(rng.random(), 0.8, 0.8)
    cv2.line(scene, at, end, colour, 14, cv2.LINE_AA)
    near = (at[0] + (end[0] - at[0]) // 7, at[1] + (end[1] - at[1]) // 7)
    cv2.line(scene, at, near, mixed(colour, (0, 0, 0), 0.6), 10, cv2.LINE_AA)


def _cable(scene: Pixels, at: Point, rng: random.Random) -> None:
    points, x, y, angle = [at], float(at[0]), float(at[1]), rng.random() * 6
    for _ in range(30):
        angle += rng.uniform(-0.5, 0.5)
        x, y = x + 22 * math.cos(angle), y + 22 * math.sin(angle)
        points.append((round(x), round(y)))
    shade = rng.randint(20, 230)
    cv2.polylines(scene, [np.array(points)], False, (shade, shade, shade), 8, cv2.LINE_AA)


def _printed_thing(scene: Pixels, at: Point, rng: random.Random) -> None:
    """A magazine or card without text, lying askew."""
    wide, tall = rng.randint(130, 320), rng.randint(160, 380)
    art = illustration(rng, wide, tall, palette(rng))
    turn = cv2.getRotationMatrix2D((wide / 2, tall / 2), rng.uniform(-40, 40), 1.0)
    turn[:, 2] += np.array([at[0] - wide / 2, at[1] - tall / 2])
    size = (scene.shape[1], scene.shape[0])
    warped = cv2.warpAffine(art, turn, size)
    mask = cv2.warpAffine(np.full((tall, wide), 255, np.uint8), turn, size)
    scene[mask > 127] = warped[mask > 127]


def _coins(scene: Pixels, at: Point, rng: random.Random) -> None:
    for _ in range(rng.randint(2, 6)):
        centre = (at[0] + rng.randint(-90, 90), at[1] + rng.randint(-90, 90))
        radius = rng.randint(16, 26)
        metal = rng.choice(((196, 160, 80), (190, 190, 196), (176, 112, 70)))
        cv2.circle(scene, centre, radius, metal, -1, cv2.LINE_AA)
        cv2.circle(scene, centre, radius - 4, mixed(metal, (0, 0, 0), 0.3), 2, cv2.LINE_AA)


def _leaves(scene: Pixels, at: Point, rng: random.Random) -> None:
    green = hsv(rng.uniform(0.22, 0.38), rng.uniform(0.4, 0.8), rng.uniform(0.3, 0.65))
    for _ in range(rng.randint(6, 12)):
        angle = rng.uniform(0, 360)
        centre = (
            round(at[0] + 50 * math.cos(math.radians(angle))),
            round(at[1] + 50 * math.sin(math.radians(angle))),
        )
        axes = (rng.randint(40, 70), rng.randint(10, 20))
        cv2.ellipse(scene, centre, axes, angle, 0, 360, green, -1, cv2.LINE_AA)
        cv2.ellipse(scene, centre, axes, angle, 0, 360, mixed(green, (0, 0, 0), 0.4), 2, cv2.LINE_AA)


def _socket(scene: Pixels, at: Point, rng: random.Random) -> None:
    size = rng.randint(36, 60)
    ends = ((at[0] - size, at[1] - size), (at[0] + size, at[1] + size))
    cv2.rectangle(scene, *ends, (240, 240, 236), -1)
    cv2.rectangle(scene, *ends, (170, 170, 166), 2)
    cv2.circle(scene, at, size // 2, (214, 214, 208), -1, cv2.LINE_AA)


_ON_TABLES = (_mug, _pen, _cable, _printed_thing, _coins, _leaves, _printed_thing)
_ON_WALLS = (_cable, _printed_thing, _socket, _leaves)


def scatter(scene: Pixels, rng: random.Random, *, wall: bool) -> None:
    """Puts three to seven objects anywhere; the thing itself will lie on top of them."""
    height, width = scene.shape[:2]
    for _ in range(rng.randint(2, 4) if wall else rng.randint(3, 7)):
        at = (rng.randint(0, width), rng.randint(0, height))
        rng.choice(_ON_WALLS if wall else _ON_TABLES)(scene, at, rng)


def finger(scene: Pixels, base: Point, tip: Point, thickness: int, rng: random.Random) -> None:
    """A finger from base to tip, with a nail and some shading."""
    skin = rng.choice(_SKINS)
    cv2.line(scene, base, tip, mixed(skin, (60, 20, 10), 0.35), thickness + 6, cv2.LINE_AA)
    cv2.line(scene, base, tip, skin, thickness, cv2.LINE_AA)
    angle = math.degrees(math.atan2(tip[1] - base[1], tip[0] - base[0]))
    nail = (thickness // 3, thickness // 4)
    cv2.ellipse(scene, tip, nail, angle, 0, 360, mixed(skin, (255, 225, 220), 0.6), -1, cv2.LINE_AA)


def obstacle(
    shape: tuple[int, int], at: Point, radius: int, rng: random.Random
) -> tuple[Pixels, NDArray[np.bool_]]:
    """Something in the way of the camera: its pixels and where it is, both height × width."""
    layer = np.zeros((*shape, 3), np.uint8)
    marks = np.zeros(shape, np.uint8)
    kind = rng.randrange(3)
    if kind == 0:
        colour = hsv(rng.random(), rng.uniform(0.1, 0.7), rng.uniform(0.3, 0.9))
        cv2.circle(layer, at, radius, colour, -1, cv2.LINE_AA)
        cv2.circle(layer, at, round(radius * 0.8), mixed(colour, (0, 0, 0), 0.4), 8, cv2.LINE_AA)
        cv2.circle(marks, at, radius, 255, -1)
    elif kind == 1:
        skin = rng.choice(_SKINS)
        for k in range(4):
            angle = rng.uniform(-0.1, 0.1) + 0.35 * k
            tip = (round(at[0] + radius * math.cos(angle)), round(at[1] + radius * math.sin(angle)))
            for target, colour in ((layer, mixed(skin, (60, 30, 20), 0.06 * k)), (marks, (255, 255, 255))):
                cv2.line(target, at, tip, colour, round(radius * 0.42), cv2.LINE_AA)
        cv2.circle(layer, at, round(radius * 0.6), skin, -1, cv2.LINE_AA)
        cv2.circle(marks, at, round(radius * 0.6), 255, -1)
    else:
        art = illustration(rng, 2 * radius, 2 * radius, palette(rng))
        turn = cv2.getRotationMatrix2D((radius, radius), rng.uniform(0, 90), 0.85)
        turn[:, 2] += np.array([at[0] - radius, at[1] - radius])
        layer = np.asarray(cv2.warpAffine(art, turn, shape[::-1]), np.uint8)
        marks = np.asarray(
            cv2.warpAffine(np.full((2 * radius, 2 * radius), 255, np.uint8), turn, shape[::-1]), np.uint8
        )
    return layer, marks > 127
