"""Draws the flat face of every kind of thing that is photographed."""

from __future__ import annotations

import random
from collections.abc import Callable

from evaluation.world.model import Thing
from evaluation.world.plan import Plan
from evaluation.world.rendering import covers, devices, packs, sheets, walls
from evaluation.world.rendering.canvas import Box, Design, Pixels
from evaluation.world.rendering.strokes import painting

_FACES: dict[str, Callable[[Thing, random.Random, random.Random], Design]] = {
    "book": covers.book,
    "game": covers.game,
    "poster": covers.poster,
    "food": packs.food,
    "seeds": packs.seeds,
    "gadget": devices.gadget,
    "menu": sheets.menu,
    "worksheet": sheets.worksheet,
    "plaque": walls.plaque,
    "shop": walls.shop,
}


def design(plan: Plan, thing: Thing) -> Design:
    """The thing's face: things of one style share layout and palette. Raises KeyError for other kinds."""
    own = plan.stream("design", thing.key)
    if thing.kind == "painting":
        return painting(own)
    return _FACES[thing.kind](thing, plan.stream("style", thing.style), own)


__all__ = ["Box", "Design", "Pixels", "design"]
