"""Procedural illustrations: what gives covers, packs and posters their texture."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import cv2
import numpy as np

from evaluation.world.rendering.canvas import Pixels
from evaluation.world.rendering.palette import Colour, Palette, mixed

Ornament = Callable[[random.Random, int, int, Palette], Pixels]


def gradient(width: int, height: int, top: Colour, bottom: Colour) -> Pixels:
    """A vertical gradient, height × width × 3."""
    share = np.linspace(0.0, 1.0, height)[:, None, None]
    column = np.array(top) * (1 - share) + np.array(bottom) * share
    return np.ascontiguousarray(np.broadcast_to(column, (height, width, 3)).astype(np.uint8))


def _colour(rng: random.Random, palette: Palette) -> Colour:
    return mixed(rng.choice(palette.accents), rng.choice((palette.ground, palette.ink)), rng.uniform(0, 0.5))


def mountains(rng: random.Random, width: int, height: int, palette: Palette) -> Pixels:
    """Layered ridges under a disc, with trees on the nearest."""
    sky = gradient(width, height, mixed(palette.accents[0], palette.ground, 0.6), palette.ground)
    centre = (rng.randint(width // 5, 4 * width // 5), rng.randint(height // 8, height // 3))
    cv2.circle(sky, centre, rng.randint(width // 14, width // 7), palette.accents[1], -1, cv2.LINE_AA)
    swing = rng.uniform(0.04, 0.12)
    for layer in range(4):
        base = height * (0.4 + 0.16 * layer + rng.uniform(-0.06, 0.06))
        points = [(0, height)]
        x = 0
        while x < width + 40:
            points.append((x, round(base + rng.uniform(-1, 1) * height * swing)))
            x += rng.randint(14, 60)
        points.append((width, height))
        shade = mixed(palette.accents[layer % 3], palette.ink, 0.15 + 0.17 * layer)
        cv2.fillPoly(sky, [np.array(points)], shade, cv2.LINE_AA)
        for x, y in points[1:-1]:
            tip = rng.randint(8, 26)
            tree = np.array([(x - tip // 3, y + 4), (x + tip // 3, y + 4), (x, y - tip)])
            cv2.fillPoly(sky, [tree], mixed(shade, palette.ink, 0.3), cv2.LINE_AA)
    return sky


def tiles(rng: random.Random, width: int, height: int, palette: Palette) -> Pixels:
    """A quilt of arcs, triangles and dots."""
    field = np.full((height, width, 3), palette.ground, np.uint8)
    cell = rng.randint(34, 92)
    for y in range(0, height, cell):
        for x in range(0, width, cell):
            colour, other = _colour(rng, palette), _colour(rng, palette)
            cv2.rectangle(field, (x, y), (x + cell, y + cell), colour, -1)
            shape = rng.randrange(4)
            corner = (x + cell * rng.randint(0, 1), y + cell * rng.randint(0, 1))
            if shape == 0:
                cv2.circle(field, (x + cell // 2, y + cell // 2), cell // 3, other, -1, cv2.LINE_AA)
            elif shape == 1:
                corners = np.array([(x, y), (x + cell, y), corner])
                cv2.fillPoly(field, [corners], other, cv2.LINE_AA)
            elif shape == 2:
                cv2.ellipse(field, corner, (cell, cell), 0, 0, 360, other, cell // 6, cv2.LINE_AA)
            else:
                step = max(cell // 5, 4)
                for k in range(rng.randrange(step), cell, step):
                    cv2.line(field, (x + k, y), (x, y + k), other, 2, cv2.LINE_AA)
    return field


def botanical(rng: random.Random, width: int, height: int, palette: Palette) -> Pixels:
    """Stems with leaves and blossoms."""
    field = gradient(width, height, palette.ground, mixed(palette.ground, palette.accents[0], 0.35))
    leaf_size = rng.uniform(0.7, 1.7)
    for _ in range(rng.randint(5, 9)):
        x, y = float(rng.randint(0, width)), float(height)
        angle = -math.pi / 2 + rng.uniform(-0.4, 0.4)
        stem, leaf = _colour(rng, palette), _colour(rng, palette)
        for n in range(rng.randint(9, 16)):
            length = height / 16
            nx, ny = x + math.cos(angle) * length, y + math.sin(angle) * length
            cv2.line(field, (round(x), round(y)), (round(nx), round(ny)), stem, 4, cv2.LINE_AA)
            side = 1 if n % 2 else -1
            axes = (round(rng.randint(12, 30) * leaf_size), round(rng.randint(4, 12) * leaf_size))
            tilt = math.degrees(angle) + side * rng.uniform(35, 70)
            centre = (round(nx + side * 14), round(ny))
            cv2.ellipse(field, centre, axes, tilt, 0, 360, leaf, -1, cv2.LINE_AA)
            cv2.ellipse(field, centre, axes, tilt, 0, 360, palette.ink, 1, cv2.LINE_AA)
            x, y, angle = nx, ny, angle + rng.uniform(-0.25, 0.25)
        for k in range(7):
            petal = (round(x + 15 * math.cos(k * 0.9)), round(y + 15 * math.sin(k * 0.9)))
            cv2.circle(field, petal, 9, palette.accents[1], -1, cv2.LINE_AA)
        cv2.circle(field, (round(x), round(y)), 8, palette.accents[2], -1, cv2.LINE_AA)
    return field


def skyline(rng: random.Random, width: int, height: int, palette: Palette) -> Pixels:
    """Houses with lit windows, in two rows."""
    field = gradient(width, height, mixed(palette.ground, palette.accents[2], 0.5), palette.ground)
    for row in range(2):
        x = 0
        while x < width:
            wide, tall = rng.randint(36, 90), rng.uniform(0.25, 0.7 - 0.2 * row)
            top = round(height * (1 - tall))
            wall = mixed(_colour(rng, palette), palette.ink, 0.2 * row)
            cv2.rectangle(field, (x, top), (x + wide, height), wall, -1)
            roof = np.array([(x - 4, top), (x + wide + 4, top), (x + wide // 2, top - rng.randint(10, 50))])
            cv2.fillPoly(field, [roof], mixed(wall, palette.ink, 0.5), cv2.LINE_AA)
            across, down = rng.randint(14, 34), rng.randint(18, 40)
            pane = (rng.randint(6, across - 6), rng.randint(8, down - 6))
            for wy in range(top + rng.randint(6, 20), height - 10, down):
                for wx in range(x + rng.randint(4, 10), x + wide - pane[0], across):
                    if rng.random() < 0.75:
                        light = rng.choice(palette.accents)
                        cv2.rectangle(field, (wx, wy), (wx + pane[0], wy + pane[1]), light, -1)
            x += wide
    return field


def rays(rng: random.Random, width: int, height: int, palette: Palette) -> Pixels:
    """A burst of rays with rings and confetti."""
    field = np.full((height, width, 3), palette.ground, np.uint8)
    cx, cy = width * rng.uniform(0.2, 0.8), height * rng.uniform(0.3, 0.8)
    spokes, reach = rng.randint(14, 26), width + height
    for k in range(spokes):
        a, b = 2 * math.pi * k / spokes, 2 * math.pi * (k + 0.5) / spokes
        wedge = [(cx, cy), *((cx + reach * math.cos(t), cy + reach * math.sin(t)) for t in (a, b))]
        colour = mixed(palette.accents[k % 2], palette.ground, 0.45)
        cv2.fillPoly(field, [np.array(wedge).round().astype(np.int32)], colour, cv2.LINE_AA)
    for radius in range(rng.randint(16, 50), rng.randint(100, 180), rng.randint(14, 40)):
        cv2.circle(field, (round(cx), round(cy)), radius, palette.accents[2], rng.randint(3, 10), cv2.LINE_AA)
    for _ in range(rng.randint(60, 120)):
        x, y, r = rng.randint(0, width), rng.randint(0, height), rng.randint(3, 11)
        sides = rng.choice((3, 4, 5))
        turn = rng.random() * 6
        points = [
            (x + r * math.cos(turn + 6.283 * k / sides), y + r * math.sin(turn + 6.283 * k / sides))
            for k in range(sides)
        ]
        shape = np.array(points).round().astype(np.int32)
        cv2.fillPoly(field, [shape], _colour(rng, palette), cv2.LINE_AA)
    return field


def waves(rng: random.Random, width: int, height: int, palette: Palette) -> Pixels:
    """A sea of wave lines with boats."""
    field = gradient(width, height, palette.ground, mixed(palette.ground, palette.accents[2], 0.4))
    horizon = round(height * rng.uniform(0.25, 0.45))
    for y in range(horizon, height, rng.randint(11, 30)):
        swing, phase, length = rng.uniform(3, 9), rng.random() * 6, rng.uniform(40, 120)
        xs = np.arange(0, width + 6, 6)
        ys = y + swing * np.sin(xs / length * 6.283 + phase)
        line = np.stack([xs, ys], axis=1).round().astype(np.int32)
        cv2.polylines(field, [line], False, _colour(rng, palette), rng.randint(3, 8), cv2.LINE_AA)
    for _ in range(rng.randint(3, 7)):
        x, y, s = rng.randint(30, width - 30), rng.randint(horizon, height - 30), rng.randint(14, 40)
        hull = np.array([(x - s, y), (x + s, y), (x + s // 2, y + s // 2), (x - s // 2, y + s // 2)])
        sail = np.array([(x, y - 4), (x, y - 2 * s), (x + s, y - 4)])
        cv2.fillPoly(field, [hull], palette.ink, cv2.LINE_AA)
        cv2.fillPoly(field, [sail], palette.accents[rng.randrange(3)], cv2.LINE_AA)
    return field


ORNAMENTS: tuple[Ornament, ...] = (mountains, tiles, botanical, skyline, rays, waves)


def illustration(rng: random.Random, width: int, height: int, palette: Palette) -> Pixels:
    """Any of the ornaments, height × width × 3."""
    return rng.choice(ORNAMENTS)(rng, width, height, palette)
