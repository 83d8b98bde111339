"""Where the camera stands: pose, projection, and where printed text ends up in the picture."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from evaluation.world.rendering import Box, Design, Pixels

Matrix = NDArray[np.float64]
_DISTANCE = 2.4


@dataclass(frozen=True)
class Pose:
    """Angles in degrees, share of the frame that the thing fills, and where its middle is (0..1)."""

    yaw: float
    pitch: float
    roll: float
    fill: float
    centre: tuple[float, float] = (0.5, 0.5)


def _projected_corners(pose: Pose, width: int, height: int) -> Matrix:
    """The four corners under a pinhole camera, around the origin, before scaling; 4 × 2."""
    half = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * np.array([width, height]) / 2
    points = np.column_stack([half, np.zeros(4)])
    for axis, degrees in ((1, pose.yaw), (0, pose.pitch), (2, pose.roll)):
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        turn = np.eye(3)
        a, b = [k for k in range(3) if k != axis]
        turn[a, a] = turn[b, b] = c
        turn[a, b], turn[b, a] = -s, s
        points = points @ turn.T
    distance = _DISTANCE * max(width, height)
    scale = distance / (distance + points[:, 2])
    return np.asarray(points[:, :2] * scale[:, None], dtype=np.float64)


def homography(pose: Pose, design: Design, frame: tuple[int, int]) -> Matrix:
    """3 × 3 map from design pixels to photo pixels; `frame` is (width, height)."""
    height, width = design.picture.shape[:2]
    corners = _projected_corners(pose, width, height)
    low, high = corners.min(axis=0), corners.max(axis=0)
    room = np.array(frame) * pose.fill
    scale = float(np.min(room / (high - low)))
    placed = (corners - (low + high) / 2) * scale + np.array(frame) * np.array(pose.centre)
    flat = np.array([(0, 0), (width, 0), (width, height), (0, height)], np.float32)
    found = cv2.getPerspectiveTransform(flat, placed.astype(np.float32))
    return np.asarray(found, dtype=np.float64)


def mapped(matrix: Matrix, points: Iterable[tuple[float, float]]) -> Matrix:
    """Points carried over by the homography, n × 2."""
    source = np.array(list(points), np.float64).reshape(-1, 1, 2)
    return np.asarray(cv2.perspectiveTransform(source, matrix), np.float64).reshape(-1, 2)


def box_corners(box: Box) -> list[tuple[float, float]]:
    """The corners of a box."""
    left, top, right, bottom = box
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def outline(matrix: Matrix, design: Design) -> NDArray[np.int32]:
    """The thing's outline in the photo, 4 × 2 whole pixels."""
    height, width = design.picture.shape[:2]
    return mapped(matrix, box_corners((0, 0, width, height))).round().astype(np.int32)


def magnification(matrix: Matrix, box: Box) -> float:
    """How much larger the box is in the photo than in the design, by height."""
    a, b, c, d = mapped(matrix, box_corners(box))
    tall = (np.linalg.norm(d - a) + np.linalg.norm(c - b)) / 2
    return float(tall / max(box[3] - box[1], 1))


def inside(matrix: Matrix, boxes: Iterable[Box], frame: tuple[int, int], margin: int = 10) -> bool:
    """Whether all boxes are wholly in the frame."""
    limits = np.array(frame) - margin
    return all(
        bool((points >= margin).all() and (points <= limits).all())
        for points in (mapped(matrix, box_corners(box)) for box in boxes)
    )


def hand_held(rng: random.Random, *, fill: tuple[float, float] = (0.7, 0.95)) -> Pose:
    """A pose as a wearer would happen to stand."""
    centre = (0.5 + rng.uniform(-0.04, 0.04), 0.5 + rng.uniform(-0.05, 0.05))
    return Pose(rng.uniform(-26, 26), rng.uniform(-18, 18), rng.uniform(-7, 7), rng.uniform(*fill), centre)


def turned(pose: Pose, rng: random.Random) -> Pose:
    """The camera held sideways, upside down or askew."""
    roll = rng.choice((90.0, -90.0, 180.0, rng.uniform(25, 45), rng.uniform(-45, -25)))
    return replace(pose, roll=roll, fill=min(pose.fill + 0.1, 0.97))


def cut_off(pose: Pose, design: Design, boxes: list[Box], frame: tuple[int, int], rng: random.Random) -> Pose:
    """Moved so that part of the thing leaves the frame but the boxes stay in it."""
    sides = [(1, 0), (-1, 0), (0, 1), (0, -1)]
    rng.shuffle(sides)
    close = replace(pose, fill=max(pose.fill, 0.85), centre=(0.5, 0.5))
    shifted = (
        replace(close, centre=(0.5 + dx * amount, 0.5 + dy * amount))
        for amount in (0.34, 0.28, 0.22, 0.16, 0.1)
        for dx, dy in sides
    )
    # When nearly everything is asked about, only a rim can be lost.
    nearer = (replace(close, fill=fill) for fill in (1.14, 1.08, 1.03, 0.99))
    for moved in (*shifted, *nearer):
        if inside(homography(moved, design, frame), boxes, frame, margin=4):
            return moved
    return replace(close, fill=0.95)


def bent(picture: Pixels, rng: random.Random) -> Pixels:
    """The sheet bulging like an open page or a soft pack; same size, at most 1.5 % displaced."""
    height, width = picture.shape[:2]
    xs, ys = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    swing = rng.uniform(-0.015, 0.015)
    lift = (np.sin(xs / width * np.float32(math.pi)) * np.float32(swing * height)).astype(np.float32)
    found = cv2.remap(picture, xs, ys + lift, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(found, np.uint8)
