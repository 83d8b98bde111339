"""Faces that are fixed to walls: plaques and shop fronts."""

from __future__ import annotations

import random

import cv2
import numpy as np

from evaluation.world.model import Thing
from evaluation.world.rendering.canvas import Box, Canvas, Design, Pixels, stacked
from evaluation.world.rendering.covers import said
from evaluation.world.rendering.lettering import body, headline
from evaluation.world.rendering.ornament import gradient, illustration
from evaluation.world.rendering.palette import Colour, Palette, hsv, ink_for, mixed, palette

_PLATES: tuple[Colour, ...] = (
    (28, 60, 120),
    (36, 84, 58),
    (92, 66, 38),
    (52, 52, 56),
    (196, 180, 150),
    (120, 30, 36),
    (214, 214, 206),
)
_WHERE = ("lived in this house", "worked here", "was born next door", "resided here", "had a workshop here")
_DAYS = (
    ("weekday hours", ("Mon–Fri", "Monday–Friday", "Mo–Fr", "Weekdays")),
    ("saturday hours", ("Sat", "Saturday", "Sa")),
    ("sunday hours", ("Sun", "Sunday", "Su")),
)
_INK: Colour = (24, 24, 28)


def plaque(thing: Thing, style: random.Random, own: random.Random) -> Design:
    """An engraved or enamelled plate with a decorated border."""
    width, height = style.randint(740, 900), style.randint(620, 780)
    ground = mixed(style.choice(_PLATES), hsv(style.random(), 0.5, 0.5), 0.15)
    ink = ink_for(ground)
    canvas = Canvas(width, height, gradient(width, height, mixed(ground, (255, 255, 255), 0.15), ground))
    rim, corner = style.randint(10, 26), style.randint(0, 70)
    canvas.draw.rounded_rectangle(
        (rim, rim, width - rim, height - rim), corner, outline=ink, width=style.randint(3, 9)
    )
    inset = style.randint(24, 46)
    for x in (inset, width - inset):
        for y in (inset, height - inset):
            canvas.draw.ellipse(
                (x - 12, y - 12, x + 12, y + 12), fill=mixed(ground, ink, 0.6), outline=ink, width=2
            )
    blocks = (
        ("art", style.uniform(0.9, 1.5)),
        ("person", 1.7),
        ("years", 1.0),
        ("deed", 1.7),
        ("where", 0.8),
    )
    rows = stacked(style, (60, 52, width - 60, height - 52), blocks, shuffle=False, gap=10)
    strip = rows["art"]
    canvas.picture(illustration(own, strip[2] - strip[0], strip[3] - strip[1], palette(own)), strip)
    canvas.text(
        said(thing, "person"),
        rows["person"],
        headline(style),
        ink,
        attribute="person",
        largest=style.randint(72, 100),
        lines=2,
    )
    texts = {row.label: row.text for row in thing.rows}
    covered = canvas.text(
        texts["years"], rows["years"], body(style), ink, largest=style.randint(50, 70), lines=1
    )
    for attribute in ("birth year", "death year"):
        canvas.mark(attribute, covered, 50)
    canvas.text(texts["deed"], rows["deed"], body(style), ink, attribute="deed", largest=54, lines=3)
    canvas.text(style.choice(_WHERE), rows["where"], body(style), ink, largest=42, lines=1)
    return canvas.finish(own, corner=corner, grain=7.0)


def shop(thing: Thing, style: random.Random, own: random.Random) -> Design:
    """A shop front: sign, window display, door with opening hours, street number and street sign."""
    width, height = style.randint(860, 940), style.randint(820, 920)
    colours = palette(style)
    canvas = Canvas(width, height, _facade(own, width, height))
    sign_left, sign_top = style.randint(16, 70), style.randint(20, 60)
    sign = (sign_left, sign_top, width - style.randint(16, 70), sign_top + style.randint(120, 160))
    canvas.band(sign, colours.ground, style, outline=colours.accents[0])
    trade = sign[3] - style.randint(36, 48)
    canvas.text(
        said(thing, "name"), (sign[0] + 46, sign[1] + 8, sign[2] - 46, trade), headline(style), colours.ink,
        attribute="name", largest=92, lines=1,
    )  # fmt: skip
    for row in thing.rows:
        canvas.text(
            row.text,
            (sign[0] + 46, trade, sign[2] - 46, sign[3] - 4),
            body(style),
            colours.ink,
            largest=34,
            lines=1,
        )
    door_width, left_door = style.randint(280, 330), style.random() < 0.5
    door_left = style.randint(24, 50) if left_door else width - door_width - style.randint(24, 50)
    top = sign[3] + style.randint(40, 80)
    door = (door_left, top, door_left + door_width, height)
    window = (
        (door[2] + 40, top, width - 36, height - 150) if left_door else (36, top, door[0] - 40, height - 150)
    )
    _window(canvas, colours, style, own, window)
    _door(canvas, thing, colours, style, door)
    plate = (
        window[0] + style.randint(0, 60),
        window[3] + 30,
        window[2] - style.randint(0, 60),
        window[3] + 112,
    )
    shade = style.choice(((24, 48, 96), (240, 240, 236), (22, 80, 60), (120, 24, 30)))
    canvas.draw.rectangle(plate, fill=shade, outline=ink_for(shade), width=3)
    canvas.text(
        said(thing, "street"), (plate[0] + 12, plate[1] + 6, plate[2] - 12, plate[3] - 6), body(style),
        ink_for(shade), attribute="street", largest=54, lines=1,
    )  # fmt: skip
    return canvas.finish(own)


def _window(canvas: Canvas, colours: Palette, style: random.Random, own: random.Random, box: Box) -> None:
    left, top, right, bottom = box
    canvas.picture(illustration(own, right - left, bottom - top, palette(own)), box)
    canvas.draw.rectangle(box, outline=colours.ground, width=style.randint(8, 20))
    for k in range(1, style.randint(2, 4)):
        x = left + (right - left) * k // 4 + style.randint(-30, 30)
        canvas.draw.line((x, top, x, bottom), fill=colours.ground, width=style.randint(5, 12))
    if style.random() < 0.6:
        step, deep = style.randint(34, 76), style.randint(30, 70)
        for n, x in enumerate(range(left - 10, right, step)):
            stripe = colours.accents[1] if n % 2 else (244, 240, 232)
            lower = ((x + step - 6, top + deep), (x - 6, top + deep))
            canvas.draw.polygon(((x, top - 24), (x + step, top - 24), *lower), fill=stripe)


def _door(canvas: Canvas, thing: Thing, colours: Palette, style: random.Random, door: Box) -> None:
    left, top, right, _ = door
    canvas.draw.rectangle(door, fill=mixed(colours.ground, (0, 0, 0), style.uniform(0.2, 0.6)))
    inner = (left + 16, top + 12, right - 16, canvas.height - style.randint(60, 130))
    rows = stacked(style, inner, (("number", 1.0), ("hours", 3.6)), gap=16)
    x0, y0, x1, y1 = rows["number"]
    middle, half = (x0 + x1) // 2 + style.randint(-40, 40), style.randint(46, 70)
    canvas.draw.rectangle((middle - half, y0, middle + half, y1), fill=(248, 246, 238), outline=_INK, width=3)
    canvas.text(
        said(thing, "street number"), (middle - half + 6, y0 + 2, middle + half - 6, y1 - 2), headline(style),
        _INK, attribute="street number", largest=72, lines=1,
    )  # fmt: skip
    card = rows["hours"]
    canvas.draw.rectangle(card, fill=style.choice(((250, 249, 244), (238, 232, 214), (226, 236, 244))))
    heading = style.choice(("Opening hours", "We are open", "Hours", "Open"))
    lines = stacked(
        style, (card[0] + 8, card[1] + 6, card[2] - 8, card[3] - 6),
        (("heading", 1.0), *((attribute, 2.1) for attribute, _ in _DAYS)), shuffle=False, gap=2,
    )  # fmt: skip
    canvas.text(heading, lines["heading"], headline(style), _INK, largest=36, lines=1)
    day_face, hour_face = body(style), body(style)
    for attribute, names in _DAYS:
        a, b, c, d = lines[attribute]
        cut = b + round((d - b) * 0.46)
        canvas.text(style.choice(names), (a, b, c, cut), day_face, _INK, largest=32, lines=1)
        covered = canvas.text(said(thing, attribute), (a, cut, c, d), hour_face, _INK, largest=38, lines=1)
        canvas.mark(attribute, (covered[0], b, covered[2], covered[3]), min(32, round((cut - b) / 1.2)))


def _facade(rng: random.Random, width: int, height: int) -> Pixels:
    """Bricks, boards or plain plaster."""
    base = hsv(rng.random(), rng.uniform(0.05, 0.35), rng.uniform(0.5, 0.9))
    wall = np.full((height, width, 3), base, np.uint8)
    kind, hue = rng.randrange(3), rng.uniform(0.0, 0.1)
    tall, wide = rng.randint(18, 34), rng.randint(44, 90)
    if kind == 0:
        for row, y in enumerate(range(0, height, tall)):
            for x in range(-(wide // 2) * (row % 2), width, wide):
                shade = hsv(hue, rng.uniform(0.25, 0.5), rng.uniform(0.45, 0.75))
                cv2.rectangle(wall, (x + 2, y + 2), (x + wide - 3, y + tall - 3), shade, -1)
    elif kind == 1:
        for x in range(0, width, wide):
            shade = mixed(base, (0, 0, 0), rng.uniform(0.0, 0.25))
            cv2.rectangle(wall, (x + 2, 0), (x + wide - 2, height), shade, -1)
    return wall
