"""Faces of small electronics."""

from __future__ import annotations

import math
import random

import cv2
import numpy as np

from evaluation.world.model import Thing
from evaluation.world.rendering.canvas import Box, Canvas, Design, Pixels
from evaluation.world.rendering.covers import said
from evaluation.world.rendering.lettering import body, headline
from evaluation.world.rendering.ornament import gradient, illustration
from evaluation.world.rendering.palette import Palette, hsv, ink_for, mixed, palette


def gadget(thing: Thing, style: random.Random, own: random.Random) -> Design:
    """The face of a device: grille, screen and knobs somewhere, the brand and the model number."""
    width, height = style.choice(((820, 620), (700, 820), (860, 540)))
    width, height = width + style.randint(-40, 40), height + style.randint(-40, 40)
    shade = style.choice((0.12, 0.2, 0.78, 0.9, 0.5))
    ground = hsv(style.random(), style.uniform(0.03, 0.5), shade)
    colours = Palette(ground, ink_for(ground), palette(style).accents)
    glow, dim = mixed(ground, (255, 255, 255), 0.15), mixed(ground, (0, 0, 0), 0.2)
    canvas = Canvas(width, height, gradient(width, height, glow, dim))
    head, foot = style.randint(100, 140), style.randint(96, 130)
    flipped = style.random() < 0.35
    top, bottom = (foot, height - head) if flipped else (head, height - foot)
    _controls(
        canvas, colours, style, own, (style.randint(24, 60), top, width - style.randint(24, 60), bottom)
    )
    brand = (30, height - head + 10, width - 30, height - 14) if flipped else (30, 14, width - 30, head - 10)
    strip = (30, 12, width - 30, foot - 12) if flipped else (30, height - foot + 12, width - 30, height - 12)
    align = style.choice(("center", "left", "right"))
    canvas.text(
        said(thing, "brand"), brand, headline(style, align=align), colours.ink,
        attribute="brand", largest=style.randint(66, 96), lines=1,
    )  # fmt: skip
    _labels(canvas, thing, style, strip, colours)
    return canvas.finish(own, corner=style.randint(18, 80), grain=4.0)


def _labels(canvas: Canvas, thing: Thing, style: random.Random, strip: Box, colours: Palette) -> None:
    left, top, right, bottom = strip
    middle = (left + right) // 2
    sides = [(left, top, middle - 10, bottom), (middle + 10, top, right, bottom)]
    if style.random() < 0.5:
        sides.reverse()
    canvas.text(
        said(thing, "model"), sides[0], body(style), colours.ink, attribute="model",
        largest=style.randint(52, 76), lines=1,
    )  # fmt: skip
    energy, small = thing.fact("energy"), body(style)
    if energy:
        canvas.text(energy.value.text, sides[1], small, colours.ink, attribute="energy", largest=56, lines=1)
        return
    for row in thing.rows:
        canvas.text(row.text, sides[1], small, colours.ink, largest=36, lines=1)


def _controls(canvas: Canvas, colours: Palette, style: random.Random, own: random.Random, box: Box) -> None:
    pixels = np.array(canvas.image)
    left, top, right, bottom = box
    cut = round(left + (right - left) * style.uniform(0.4, 0.62))
    grille, rest = (left, top, cut - 12, bottom), (cut + 12, top, right, bottom)
    if style.random() < 0.5:
        shift = right - cut
        grille, rest = (left + shift + 12, top, right, bottom), (left, top, left + shift - 12, bottom)
    dark = mixed(colours.ground, (0, 0, 0), 0.6)
    _grille(pixels, grille, dark, style)
    middle = round(top + (bottom - top) * style.uniform(0.4, 0.62))
    screen = (rest[0], top, rest[2], middle)
    picture = illustration(own, 320, 220, palette(own, light=False))
    pixels[screen[1] : screen[3], screen[0] : screen[2]] = cv2.resize(
        picture, (screen[2] - screen[0], screen[3] - screen[1]), interpolation=cv2.INTER_AREA
    )
    cv2.rectangle(pixels, screen[:2], screen[2:], dark, style.randint(3, 9))
    _knobs(pixels, (rest[0], middle + 12, rest[2], bottom), colours, dark, style)
    canvas.picture(np.asarray(pixels, dtype=np.uint8), (0, 0, canvas.width, canvas.height))


def _grille(pixels: Pixels, box: Box, dark: tuple[int, int, int], style: random.Random) -> None:
    """Holes in a grid, slots or rings."""
    left, top, right, bottom = box
    step, kind = style.uniform(11, 26), style.randrange(3)
    lean, weight = style.uniform(-0.5, 0.5), style.uniform(0.2, 0.42)
    if kind == 0:
        for row in range(int((bottom - top) / step)):
            for column in range(int((right - left) / step)):
                shifted = (lean * row) % 1.0
                centre = (round(left + (column + shifted) * step), round(top + (row + 0.5) * step))
                cv2.circle(pixels, centre, max(round(step * weight), 2), dark, -1, cv2.LINE_AA)
    elif kind == 1:
        for k in range(int((right - left + bottom - top) / step)):
            start = (round(left + k * step), top)
            end = (round(left + k * step - lean * (bottom - top)), bottom)
            kept, a, b = cv2.clipLine((left, top, right - left, bottom - top), start, end)
            if kept:
                cv2.line(pixels, a, b, dark, max(round(step * weight), 2), cv2.LINE_AA)
    else:
        centre = ((left + right) // 2, (top + bottom) // 2)
        reach = min(right - left, bottom - top) // 2
        for k in range(1, int(reach / step) + 1):
            cv2.circle(pixels, centre, round(k * step), dark, max(round(step * weight), 2), cv2.LINE_AA)


def _knobs(
    pixels: Pixels, box: Box, colours: Palette, dark: tuple[int, int, int], style: random.Random
) -> None:
    left, top, right, bottom = box
    number = style.choice((1, 2, 3, 4))
    span = (right - left) // number
    radius = max(min(span // 2 - 6, (bottom - top) // 2 - 4), 8)
    for k in range(number):
        centre = (left + span * k + span // 2, (top + bottom) // 2)
        cv2.circle(pixels, centre, radius, dark, -1, cv2.LINE_AA)
        ring = colours.accents[k % len(colours.accents)]
        cv2.circle(pixels, centre, round(radius * style.uniform(0.5, 0.9)), ring, 4, cv2.LINE_AA)
        turn = style.random() * 2 * math.pi
        tip = (round(centre[0] + radius * math.cos(turn)), round(centre[1] + radius * math.sin(turn)))
        cv2.line(pixels, centre, tip, (245, 245, 245), style.randint(3, 7), cv2.LINE_AA)
