"""Faces that are mostly text on paper: menus and worksheets."""

from __future__ import annotations

import random

from evaluation.world.model import Thing
from evaluation.world.rendering.canvas import Canvas, Design
from evaluation.world.rendering.covers import said
from evaluation.world.rendering.lettering import Lettering, body, headline
from evaluation.world.rendering.ornament import illustration
from evaluation.world.rendering.palette import Colour, hsv, mixed, palette
from evaluation.world.things.places import DISH_PREFIX

_SECTIONS = {
    "Dishes": ("Dishes", "Mains", "From the kitchen", "To eat"),
    "Desserts": ("Desserts", "Sweets", "Afters"),
    "Drinks": ("Drinks", "Beverages", "To drink"),
}


def menu(thing: Thing, style: random.Random, own: random.Random) -> Design:
    """A menu with sections, dishes and prices."""
    width, height = style.randint(700, 800), style.randint(1020, 1100)
    colours = palette(style, light=style.random() < 0.75)
    canvas = Canvas(width, height, colours.ground)
    head, foot = style.randint(70, 120), style.randint(40, 90)
    art = illustration(own, width, head + foot, palette(own))
    canvas.picture(art[:head], (0, 0, width, head))
    canvas.picture(art[head:], (0, height - foot, width, height))
    name = (40, head + 8, width - 40, head + 96)
    canvas.text(
        said(thing, "restaurant"), name, headline(style), colours.ink,
        attribute="restaurant", largest=style.randint(64, 84), lines=1,
    )  # fmt: skip
    _dishes(canvas, thing, style, (head + 104, height - foot - 8), colours.ink)
    return canvas.finish(own)


def _dishes(canvas: Canvas, thing: Thing, style: random.Random, span: tuple[int, int], ink: Colour) -> None:
    """Rows of dish and price between the two heights."""
    width, pad = canvas.width, style.randint(40, 80)
    prices = style.randint(120, 150)
    section_face = headline(style, align=style.choice(("center", "left")))
    row_face = body(style, align="left")
    price_face = Lettering(row_face.face, row_face.stretch, row_face.slant, align="right")
    leader, capital = style.choice((".", "-", " ", "_")), style.random() < 0.7
    sections = {row.label.split("|")[0] for row in thing.rows}
    step = (span[1] - span[0]) / (len(thing.rows) + 1.15 * len(sections))
    y, section = float(span[0]), ""
    for row in thing.rows:
        group, dish = row.label.split("|")
        if group != section:
            section = group
            title = style.choice(_SECTIONS[group])
            canvas.text(
                title,
                (pad, round(y), width - pad, round(y + 1.1 * step)),
                section_face,
                ink,
                largest=44,
                lines=1,
            )
            y += 1.15 * step
        ends = round(y), round(y + step)
        label = dish.capitalize() if capital else dish
        left = canvas.text(
            label, (pad, ends[0], width - pad - prices, ends[1]), row_face, ink, largest=36, lines=1
        )
        right = canvas.text(
            row.text,
            (width - pad - prices, ends[0], width - pad, ends[1]),
            price_face,
            ink,
            largest=36,
            lines=1,
        )
        canvas.mark(DISH_PREFIX + dish, (left[0], left[1], right[2], right[3]), min(36, round(step / 1.2)))
        gap = (left[2] + 12, left[1], right[0] - 12, left[3])
        if leader != " " and gap[2] - gap[0] > 40:
            canvas.text(
                leader * ((gap[2] - gap[0]) // 16),
                gap,
                Lettering("Roboto"),
                mixed(ink, (128, 128, 128), 0.5),
                largest=20,
                lines=1,
            )
        y += step


def worksheet(thing: Thing, style: random.Random, own: random.Random) -> Design:
    """A school worksheet with numbered problems and lines to write on."""
    width, height = style.randint(720, 800), style.randint(1000, 1080)
    paper = hsv(style.uniform(0.1, 0.6), 0.03, 0.97)
    canvas = Canvas(width, height, paper)
    pitch = style.randint(20, 34)
    if style.random() < 0.5:
        rule = mixed(paper, (120, 160, 220), 0.35)
        for x in range(0, width, pitch):
            canvas.draw.line((x, 0, x, height), fill=rule)
        for y in range(0, height, pitch):
            canvas.draw.line((0, y, width, y), fill=rule)
    ink: Colour = (28, 30, 44)
    canvas.text(thing.name, (50, 24, width - 50, 100), headline(style), ink, largest=56, lines=1)
    blank = style.choice(
        ("Name: ____________  Class: ____", "Name: ______________", "Date: ________  Name: ________")
    )
    canvas.text(blank, (50, 104, width - 50, 144), body(style), ink, largest=30, lines=1)
    face = body(style, align="left")
    mark = style.choice(("{})", "{}.", "({})", "{}:"))
    y = 166
    for row in thing.rows:
        long = len(row.text) > 24
        tall = 168 if long else 124
        canvas.text(
            f"{mark.format(row.label)}  {row.text}", (56, y, width - 56, y + tall - 40), face, ink,
            attribute=f"problem {row.label}", largest=36 if long else 44, lines=3,
        )  # fmt: skip
        canvas.draw.line((56, y + tall - 20, width - 56, y + tall - 20), fill=mixed(paper, ink, 0.4), width=2)
        y += tall
    return canvas.finish(own, grain=3.0)
