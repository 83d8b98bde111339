"""Faces of books, board games and event posters."""

from __future__ import annotations

import random

from evaluation.world.model import Place, Thing
from evaluation.world.rendering.canvas import Box, Canvas, Design, Pixels, stacked
from evaluation.world.rendering.lettering import body, headline
from evaluation.world.rendering.ornament import ORNAMENTS, gradient, illustration
from evaluation.world.rendering.palette import Palette, ink_for, mixed, palette


def said(thing: Thing, attribute: str) -> str:
    """The text of an attribute, or nothing."""
    fact = thing.fact(attribute)
    return fact.value.text if fact else ""


def shown(thing: Thing, attribute: str) -> str:
    """The text of an attribute if it is one that the thing prints."""
    fact = thing.fact(attribute)
    return fact.value.text if fact and Place.PRINTED in fact.places else ""


def book(thing: Thing, style: random.Random, own: random.Random) -> Design:
    """A cover. `style` is shared by a series: layout, palette and lettering; `own` draws the picture."""
    width, height = style.randint(560, 660), style.randint(860, 980)
    colours = palette(style)
    art = style.choice(ORNAMENTS)(own, width, height, palette(own) if own.random() < 0.4 else colours)
    canvas = Canvas(
        width, height, gradient(width, height, colours.ground, mixed(colours.ground, colours.accents[0], 0.2))
    )
    head, foot = style.randint(44, 66), style.randint(54, 74)
    inner = _book_picture(canvas, art, colours, style, (0, head, width, height - foot))
    align = style.choice(("center", "center", "left", "right"))
    rows = stacked(style, inner, (("title", 3.4), ("author", 1.0)), gap=16)
    canvas.text(
        said(thing, "title"), rows["title"], headline(style, align=align), colours.ink,
        attribute="title", largest=style.randint(84, 120), lines=4,
    )  # fmt: skip
    canvas.text(
        said(thing, "author"), rows["author"], body(style, align=align), colours.ink,
        attribute="author", largest=style.randint(40, 56), lines=2,
    )  # fmt: skip
    ends = [(0, 0, width, head), (0, height - foot, width, height)]
    style.shuffle(ends)
    for attribute, box in zip(("series", "publisher"), ends, strict=True):
        text = shown(thing, attribute)
        lettering, shade = body(style), style.choice((colours.ground, *colours.accents))
        if text:
            canvas.draw.rectangle(box, fill=shade)
            left, top, right, bottom = box
            canvas.text(
                text, (left + 20, top + 4, right - 20, bottom - 4), lettering, ink_for(shade),
                attribute=attribute, largest=40, lines=1,
            )  # fmt: skip
    return canvas.finish(own)


def _book_picture(canvas: Canvas, art: Pixels, colours: Palette, style: random.Random, box: Box) -> Box:
    """Places the picture and returns the box that is left for title and author."""
    left, top, right, bottom = box
    cut = round(top + (bottom - top) * style.uniform(0.42, 0.58))
    pad, layout = style.randint(26, 48), style.randrange(5)
    if layout == 0:
        canvas.picture(art[: bottom - cut], (left, cut, right, bottom))
        return (pad, top + pad // 2, right - pad, cut - pad // 2)
    if layout == 1:
        canvas.picture(art[: cut - top], (left, top, right, cut))
        return (pad, cut + pad // 2, right - pad, bottom - pad // 2)
    if layout == 2:
        canvas.picture(art, (left, top, right, bottom))
        upper = style.randint(top + 40, cut)
        panel = (pad, upper, right - pad, min(upper + style.randint(350, 440), bottom - 20))
        canvas.band(panel, colours.ground, style, outline=colours.accents[1])
        return (panel[0] + 56, panel[1] + 22, panel[2] - 56, panel[3] - 22)
    side = round((right - left) * style.uniform(0.24, 0.36))
    if layout == 3:
        canvas.picture(art[:, :side], (left, top, left + side, bottom))
        return (left + side + 20, top + pad, right - 20, bottom - pad * 3)
    canvas.picture(art[:, :side], (right - side, top, right, bottom))
    return (20, top + pad * 3, right - side - 20, bottom - pad)


def game(thing: Thing, style: random.Random, own: random.Random) -> Design:
    """The lid of a board game."""
    width, height = style.randint(780, 920), style.randint(720, 900)
    colours = palette(style)
    canvas = Canvas(width, height, illustration(own, width, height, palette(own)))
    tall = style.randint(210, 290)
    top = style.randint(20, height - tall - 190)
    panel = (style.randint(16, 60), top, width - style.randint(16, 60), top + tall)
    canvas.band(panel, colours.ground, style, outline=colours.accents[1])
    inset = (panel[0] + 50, panel[1] + 16, panel[2] - 50, panel[3] - 16)
    canvas.text(
        said(thing, "title"), inset, headline(style), colours.ink,
        attribute="title", largest=style.randint(90, 130), lines=2,
    )  # fmt: skip
    base = style.randint(100, 150)
    canvas.draw.rectangle((0, height - base, width, height), fill=colours.ground)
    items = [
        ("players", said(thing, "players")),
        ("playing time", style.choice(("{}", "about {}", "ca. {}")).format(said(thing, "playing time"))),
        (
            "minimum age",
            style.choice(("from {}", "{} and up", "ages {}+")).format(said(thing, "minimum age")),
        ),
    ]
    style.shuffle(items)
    lettering, third = body(style), width // 3
    for n, (attribute, text) in enumerate(items):
        box = (n * third + 14, height - base + 8, (n + 1) * third - 14, height - 8)
        canvas.text(text, box, lettering, colours.ink, attribute=attribute, largest=50, lines=2)
    return canvas.finish(own)


_POSTER_ROWS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("date", ("{}",)),
    ("starting time", ("{}", "{} h", "at {}", "Start {}", "Doors {}")),
    ("venue", ("{}", "{}", "at {}")),
    ("headliner", ("with {}", "feat. {}", "Guest: {}", "starring {}")),
    ("ticket price", ("Tickets {}", "Entry {}", "Admission {}", "{} at the door")),
)


def poster(thing: Thing, style: random.Random, own: random.Random) -> Design:
    """An event poster."""
    width, height = style.randint(680, 780), style.randint(960, 1080)
    colours = palette(style)
    art = illustration(own, width - 60, 340, palette(own) if own.random() < 0.5 else colours)
    foot = mixed(colours.ground, colours.accents[2], 0.25)
    canvas = Canvas(width, height, gradient(width, height, colours.ground, foot))
    pad, align = style.randint(24, 60), style.choice(("center", "left", "right"))
    areas = stacked(
        style, (pad, pad, width - pad, height - pad), (("art", 3.0), ("event", 2.8), ("rows", 3.6))
    )
    canvas.picture(art, areas["art"])
    canvas.text(
        said(thing, "event"), areas["event"], headline(style, align=align), colours.ink,
        attribute="event", largest=style.randint(90, 120), lines=3,
    )  # fmt: skip
    rows = stacked(style, areas["rows"], [(attribute, 1.0) for attribute, _ in _POSTER_ROWS], gap=4)
    for attribute, patterns in _POSTER_ROWS:
        text = style.choice(patterns).format(said(thing, attribute))
        lettering = body(style, align=align)
        canvas.text(text, rows[attribute], lettering, colours.ink, attribute=attribute, largest=60, lines=1)
    return canvas.finish(own)
