"""Fronts of packaged food and seed packets."""

from __future__ import annotations

import random

from evaluation.world.model import Thing
from evaluation.world.rendering.canvas import Canvas, Design, stacked
from evaluation.world.rendering.covers import said
from evaluation.world.rendering.lettering import body, headline
from evaluation.world.rendering.ornament import botanical, gradient, illustration
from evaluation.world.rendering.palette import ink_for, mixed, palette

_ENERGY = ("{label}: {text}", "{text} {label}", "{label} {text}", "= {text} ({label})")


def food(thing: Thing, style: random.Random, own: random.Random) -> Design:
    """The front of a pack; flavours of one product share layout and lettering but not the picture."""
    drink = thing.noun == "drink"
    width = style.randint(460, 520) if drink else style.randint(640, 760)
    height = style.randint(900, 980) if drink else style.randint(800, 940)
    colours, flavoured = palette(style), palette(own)
    foot = mixed(colours.ground, flavoured.accents[0], 0.5)
    canvas = Canvas(width, height, gradient(width, height, colours.ground, foot))
    base = style.randint(78, 112)
    pad = style.randint(14, 40)
    areas = stacked(
        style,
        (0, pad, width, height - base - 8),
        (("brand", 1.25), ("product", 2.2), ("flavour", 1.0), ("art", 3.2)),
    )
    canvas.picture(illustration(own, width, height // 2, flavoured), areas["art"])
    _brand(canvas, thing, style, areas["brand"])
    product = (pad + 8, areas["product"][1], width - pad - 8, areas["product"][3])
    canvas.text(
        said(thing, "product").title(), product, headline(style), colours.ink,
        attribute="product", largest=style.randint(80, 120), lines=3,
    )  # fmt: skip
    band = (30, areas["flavour"][1], width - 30, areas["flavour"][3])
    canvas.band(band, flavoured.accents[1], style)
    canvas.text(
        said(thing, "flavour").title(), (band[0] + 30, band[1] + 4, band[2] - 30, band[3] - 4), body(style),
        ink_for(flavoured.accents[1]), attribute="flavour", largest=66, lines=1,
    )  # fmt: skip
    _small_print(canvas, thing, style, base)
    return canvas.finish(own, corner=style.randint(14, 40) if drink else 0)


def _brand(canvas: Canvas, thing: Thing, style: random.Random, box: tuple[int, int, int, int]) -> None:
    shade = style.choice(palette(style).accents)
    inset = style.randint(20, 90)
    band = (inset, box[1], canvas.width - inset, box[3])
    canvas.band(band, shade, style)
    canvas.text(
        said(thing, "brand"), (band[0] + 34, band[1] + 6, band[2] - 34, band[3] - 6), headline(style),
        ink_for(shade), attribute="brand", largest=style.randint(72, 104), lines=1,
    )  # fmt: skip


def _small_print(canvas: Canvas, thing: Thing, style: random.Random, base: int) -> None:
    """Net content and, on some, the energy, on either side of the bottom strip."""
    width, height = canvas.width, canvas.height
    ground = palette(style).ground
    canvas.draw.rectangle((0, height - base, width, height), fill=ground)
    share, swapped, pad = style.uniform(0.4, 0.5), style.random() < 0.5, style.randint(14, 34)
    pattern = style.choice(_ENERGY)
    net, energy = body(style), body(style)
    cut = round(width * ((1 - share) if swapped else share))
    boxes = [
        (pad, height - base + 6, cut - 8, height - 6),
        (cut + 8, height - base + 6, width - pad, height - 6),
    ]
    if swapped:
        boxes.reverse()
    canvas.text(
        said(thing, "net content"), boxes[0], net, ink_for(ground), attribute="net content",
        largest=60, lines=1,
    )  # fmt: skip
    for row in thing.rows:
        label = row.label.replace("Energy ", style.choice(("Energy ", "", "kcal ")))
        text = pattern.format(label=label, text=row.text)
        canvas.text(text, boxes[1], energy, ink_for(ground), attribute="calories", largest=40, lines=2)


def seeds(thing: Thing, style: random.Random, own: random.Random) -> Design:
    """A seed packet."""
    width, height = style.randint(540, 640), style.randint(820, 920)
    colours = palette(style, light=style.random() < 0.8)
    canvas = Canvas(width, height, botanical(own, width, height, palette(own)))
    tall, base = style.randint(300, 390), style.randint(110, 160)
    top = style.choice((0, style.randint(0, height - base - tall - 120)))
    canvas.draw.rectangle((0, top, width, top + tall), fill=colours.ground)
    pad = style.randint(20, 44)
    rows = stacked(
        style,
        (pad, top + 10, width - pad, top + tall - 10),
        (("brand", 1.0), ("plant", 1.7), ("variety", 1.7)),
    )
    for attribute, lines, lettering in (
        ("brand", 1, body(style)),
        ("plant", 1, headline(style)),
        ("variety", 2, headline(style)),
    ):
        text = said(thing, attribute)
        canvas.text(
            text.title() if attribute == "plant" else text, rows[attribute], lettering, colours.ink,
            attribute=attribute, largest=style.randint(84, 104), lines=lines,
        )  # fmt: skip
    canvas.draw.rectangle((0, height - base, width, height), fill=colours.ground)
    small = stacked(
        style, (pad, height - base + 6, width - pad, height - 6), (("sowing", 1.0), ("seeds", 1.0)), gap=4
    )
    sow = style.choice(("Sow {}", "Sowing time: {}", "Sow from {}", "Outdoors {}"))
    contents = style.choice(("Contains {}", "{}", "approx. {}", "Content: {}"))
    canvas.text(
        sow.format(said(thing, "sowing")),
        small["sowing"],
        body(style),
        colours.ink,
        attribute="sowing",
        largest=46,
        lines=1,
    )
    canvas.text(
        contents.format(said(thing, "seeds")),
        small["seeds"],
        body(style),
        colours.ink,
        attribute="seeds",
        largest=46,
        lines=1,
    )
    return canvas.finish(own)
