"""Facades with depth, seen by a pinhole camera: what one homography cannot explain.

A place is a stack of planes (sky, recessed windows, wall, columns, people), each drawn once and projected
by its own homography H = K [r1 r2 z*r3 + t] (Hartley and Zisserman, "Multiple View Geometry", section 8.1).
"""

from dataclasses import dataclass

import cv2
import numpy as np

from services.image_search.classical.features import RGB, Floats
from services.image_search.training.camera import Shot, develop
from services.image_search.training.designs import Rng, noise

WALL = (900, 600)
FOCAL = 900.0
DAYLIGHT = Shot(low_light=0.1, blurred=0.1)


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A plane at `depth` wall pixels behind (positive) or before the wall: RGB and coverage, both float32."""

    depth: float
    colours: Floats
    coverage: Floats


@dataclass(frozen=True, slots=True)
class Place:
    """`motif` decides what neighbours share (window and stone pattern), `own` what is the place's own."""

    motif: int
    own: int


def layers(place: Place) -> list[Layer]:
    """Back to front: a tower behind, what is in the windows, the wall, columns, a porch."""
    motif = np.random.default_rng([place.motif, 7])
    own = np.random.default_rng([place.motif, place.own, 8])
    width, height = WALL
    stone = motif.uniform(90, 210, 3).astype(np.float32)
    wall = _stone(motif, own, stone)
    holes = np.zeros((height, width), np.float32)
    inside = _stone(motif, own, stone * 0.3)
    front = np.zeros((height, width), np.float32)
    _windows(motif, own, holes, inside, front)
    _statues(own, wall, int(own.integers(8, 30)))
    gable = np.ones((height, width), np.float32)
    ridge = np.cumsum(own.normal(0, 4, width)) + own.uniform(0, 120)
    gable[np.arange(height)[:, None] < np.clip(ridge, 0, height / 2)] = 0
    return [
        _block(own, stone, own.uniform(200, 500), (-200, 300), (0.25, 0.9)),
        Layer(motif.uniform(20, 90), inside, gable),
        Layer(0, wall, (1 - holes) * gable),
        Layer(-motif.uniform(30, 130), _stone(motif, own, stone * 1.15), front),
        _block(own, stone, -own.uniform(150, 300), (250, 500), (0.15, 0.45)),
    ]


def _stone(motif: Rng, own: Rng, tone: Floats) -> Floats:
    """Courses of ashlar that the motif shares, with stains that only this wall has."""
    width, height = WALL
    wall = tone + (noise(own, width, height, 5)[..., None] - 0.5) * 45
    wall = wall + (noise(own, width, height, 40)[..., None] - 0.5) * 60
    course = int(motif.integers(14, 40))
    wall[::course] *= 0.75
    for row, top in enumerate(range(0, height, course)):
        wall[top : top + course, (row % 2) * course :: course * 2] *= 0.8
    return np.ascontiguousarray(wall, np.float32)


def _block(
    own: Rng, stone: Floats, depth: float, tops: tuple[int, int], widths: tuple[float, float]
) -> Layer:
    """A tower or a porch: a carved rectangle of its own at its own depth."""
    width, height = WALL
    colours = _stone(own, own, stone * own.uniform(0.7, 1.2))
    _statues(own, colours, int(own.integers(20, 60)))
    coverage = np.zeros((height, width), np.float32)
    wide = int(width * own.uniform(*widths))
    left = int(own.integers(0, max(1, width - wide)))
    coverage[max(0, int(own.integers(*tops))) :, left : left + wide] = 1
    return Layer(depth, colours, coverage)


def _windows(motif: Rng, own: Rng, holes: Floats, inside: Floats, front: Floats) -> None:
    """Rows of arched windows with columns before them; spacing comes from the motif."""
    height, width = holes.shape
    step_x, step_y = int(motif.integers(60, 120)), int(motif.integers(110, 180))
    wide, tall = int(step_x * motif.uniform(0.3, 0.6)), int(step_y * motif.uniform(0.4, 0.65))
    skip = own.random((20, 20)) < 0.15
    for row, top in enumerate(range(40, height - tall, step_y)):
        for column, left in enumerate(range(20, width - wide, step_x)):
            if skip[row, column]:
                continue
            cv2.rectangle(holes, (left, top), (left + wide, top + tall), 1.0, -1)
            cv2.ellipse(holes, (left + wide // 2, top), (wide // 2, wide // 2), 0, 180, 360, 1.0, -1)
            shade = tuple(float(value) for value in own.uniform(10, 120, 3))
            cv2.rectangle(
                inside, (left + 4, top + int(own.integers(4, 40))), (left + wide - 4, top + tall), shade, 3
            )
            if row % 2 == 0:
                cv2.rectangle(front, (left - 10, top - 8), (left - 4, top + tall + 14), 1.0, -1)
        cv2.rectangle(front, (0, top + tall + 12), (width, top + tall + 18), 1.0, -1)


def _statues(own: Rng, wall: Floats, count: int) -> None:
    """Carvings that only this place has."""
    height, width = wall.shape[:2]
    for _ in range(count):
        x, y = int(own.integers(width)), int(own.integers(height))
        for _ in range(6):
            spot = (x + int(own.integers(-25, 25)), y + int(own.integers(-25, 25)))
            tone = tuple(float(value) for value in own.uniform(40, 230, 3))
            cv2.ellipse(
                wall,
                spot,
                (int(own.integers(2, 12)), int(own.integers(2, 12))),
                float(own.uniform(0, 180)),
                0,
                360,
                tone,
                -1,
                cv2.LINE_AA,
            )


def visit(rng: Rng, place: Place, long_side: int = 960) -> RGB:
    """A photo of the place from somewhere in front of it, with people before it and its own sky."""
    width, height = long_side, long_side * 3 // 4
    sky = np.array([150, 180, 220], np.float32) + (noise(rng, width, height, 150)[..., None] - 0.5) * 90
    rotation, shift = _pose(rng)
    camera = np.array([[FOCAL, 0, width / 2], [0, FOCAL, height / 2], [0, 0, 1]])
    photo = np.ascontiguousarray(sky, np.float32)
    for layer in layers(place):
        basis = np.c_[rotation[:, 0], rotation[:, 1], rotation[:, 2] * layer.depth + shift]
        to_wall = np.array([[1, 0, -WALL[0] / 2], [0, 1, -WALL[1] / 2], [0, 0, 1]])
        model = camera @ basis @ to_wall
        colours = cv2.warpPerspective(layer.colours, model, (width, height), flags=cv2.INTER_AREA)
        share = cv2.warpPerspective(layer.coverage, model, (width, height), flags=cv2.INTER_AREA)[..., None]
        photo = photo * (1 - share) + colours * share
    photo *= 0.35 + _shadows(rng, width, height)
    _people(rng, photo)
    return develop(rng, photo, DAYLIGHT)


def _shadows(rng: Rng, width: int, height: int) -> Floats:
    """The sun of another hour: (H, W, 1) in [0.2, 1]."""
    field = noise(rng, width, height, int(rng.integers(60, 300)))
    cast = 1 / (1 + np.exp(-(field - rng.uniform(0.2, 0.8)) * rng.uniform(2, 40)))
    return np.asarray(0.2 + 0.8 * cast[..., None], np.float32)


def _pose(
    rng: Rng,
) -> tuple[Floats, Floats]:
    """Turn (3, 3) and place (3,) of the wall before the camera."""
    turns = np.array([rng.uniform(-0.3, 0.1), rng.uniform(-0.75, 0.75), rng.uniform(-0.06, 0.06)])
    rotation = np.asarray(cv2.Rodrigues(turns)[0], np.float64)
    distance = rng.uniform(500, 1500)
    return rotation, np.array([rng.uniform(-250, 250), rng.uniform(-120, 120), distance])


def _people(rng: Rng, photo: Floats) -> None:
    height, width = photo.shape[:2]
    for _ in range(int(rng.integers(0, 25))):
        x, tall = int(rng.integers(width)), int(rng.integers(60, 240))
        top = height - tall
        for part, size in ((0.1, 0.09), (0.45, 0.28), (0.8, 0.25)):
            tone = tuple(float(value) for value in rng.uniform(20, 230, 3))
            cv2.ellipse(
                photo, (x, int(top + part * tall)), (int(tall * 0.13), int(tall * size)), 0, 0, 360, tone, -1
            )
