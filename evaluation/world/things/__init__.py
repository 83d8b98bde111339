"""Builds the world: families of things, drawn from a fixed deck of kinds."""

from __future__ import annotations

from collections.abc import Callable

from evaluation.world.model import World
from evaluation.world.plan import Plan
from evaluation.world.things.actors import add_store
from evaluation.world.things.builder import Builder
from evaluation.world.things.culture import add_paintings, add_plaques, add_posters
from evaluation.world.things.goods import add_foods, add_gadgets, add_seeds
from evaluation.world.things.places import add_menus, add_shops
from evaluation.world.things.reading import add_books, add_games
from evaluation.world.things.worksheets import add_worksheets

_DECK: tuple[tuple[Callable[[Builder], None], int], ...] = (
    (add_books, 4),
    (add_foods, 4),
    (add_gadgets, 3),
    (add_paintings, 3),
    (add_posters, 3),
    (add_menus, 3),
    (add_shops, 3),
    (add_worksheets, 2),
    (add_plaques, 2),
    (add_seeds, 2),
    (add_games, 2),
)
_STORES = 5


def build_world(plan: Plan) -> World:
    """The world of a plan: the same plan gives the same world."""
    builder = Builder(plan)
    builder.stores = tuple(add_store(builder) for _ in range(_STORES))
    deck: list[Callable[[Builder], None]] = []
    while builder.photographed < plan.entities:
        if not deck:
            deck = [add for add, copies in _DECK for _ in range(copies)]
            builder.rng.shuffle(deck)
        deck.pop()(builder)
    return builder.world()
