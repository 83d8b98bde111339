"""Chooses the single-turn questions: all categories in CRAG-MM's proportions, kinds in rotation."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator

from evaluation.world.model import Place, Thing, World
from evaluation.world.questions import composite, reasoned
from evaluation.world.questions.ask import (
    NAMING,
    RELATIONS,
    Ask,
    Category,
    ask_fact,
    ask_hop,
    composed,
    deictic,
    domain_of,
    questions_of,
)
from evaluation.world.questions.session import Session, SessionMaker
from evaluation.world.things.places import DISH_PREFIX

SHARES: dict[Category, float] = {
    Category.RECOGNITION: 0.22,
    Category.KNOWLEDGE: 0.38,
    Category.MULTI_HOP: 0.11,
    Category.COMPARISON: 0.10,
    Category.AGGREGATION: 0.08,
    Category.REASONING: 0.11,
}
UNANSWERABLE_SHARE = 0.09
_MAKERS: tuple[Callable[[World, Thing, random.Random], Iterator[Ask]], ...] = (
    composite.store_comparison,
    composite.named_comparison,
    composite.dish_comparison,
    composite.menu_aggregations,
    composite.works_aggregation,
    composite.packet_calories,
    reasoned.carry_on,
    reasoned.shop_open,
    reasoned.ages,
    reasoned.reading_days,
    reasoned.warranty,
    reasoned.event_age,
    reasoned.worksheet,
)


def dish_prices(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """What single dishes on the menu cost."""
    for attribute, fact in thing.facts.items():
        if not attribute.startswith(DISH_PREFIX):
            continue
        dish = attribute.removeprefix(DISH_PREFIX)
        query = composed(world, "dish price", rng, dish=dish)
        yield Ask(
            Category.RECOGNITION, query, f"The {dish} costs {fact.value.text}.", fact.value,
            thing, thing.name, attribute, "photo", (attribute,),
            domain=domain_of(thing, attribute, rng),
        )  # fmt: skip


def store_prices(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """What the thing costs at one store."""
    for attribute, fact in thing.facts.items():
        if not attribute.startswith("price at ") or not thing.known(attribute, Place.PAGES):
            continue
        store = attribute.removeprefix("price at ")
        keys = tuple(s.key for s in world.of_kind("store") if s.name == store)
        query = composed(world, "store price", rng, this=deictic(world, thing, rng), store=store)
        yield Ask(
            Category.KNOWLEDGE, query, f"At {store} it costs {fact.value.text}.", fact.value, thing,
            thing.name, attribute, "web", NAMING.get(thing.kind, ()), keys,
            domain="shopping", dynamism="fast-changing",
        )  # fmt: skip


def candidates(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """Every question that can be put about a photographed thing."""
    attributes = questions_of(world).attributes
    for attribute in attributes.get(thing.kind, {}):
        ask = ask_fact(world, thing, attribute, rng)
        if ask:
            yield ask
    for kind, relation in RELATIONS:
        target = world.linked(thing, relation) if kind == thing.kind else None
        for attribute in attributes.get(target.kind, {}) if target else ():
            ask = ask_hop(world, thing, relation, attribute, rng)
            if ask:
                yield ask
    if thing.kind == "menu":
        yield from dish_prices(world, thing, rng)
    yield from store_prices(world, thing, rng)
    for make in _MAKERS:
        yield from make(world, thing, rng)


class _Pool:
    """Hands out candidates so that kinds take turns and no thing is asked about too often."""

    def __init__(self, asks: list[Ask], rng: random.Random) -> None:
        self._rng = rng
        self._uses: dict[str, int] = defaultdict(int)
        self._asked: dict[tuple[str, str], int] = defaultdict(int)
        self._asks = asks

    def draw(self, category: Category | None = None, *, answerable: bool = True) -> list[Ask]:
        """The candidate whose kind, thing and attribute were used least; empty when there is none."""
        best: Ask | None = None
        best_rank: tuple[float, ...] = ()
        for ask in self._asks:
            if ask.answerable != answerable or category not in (None, ask.category):
                continue
            subject = ask.subject
            rank = (
                self._uses[subject.key],
                self._asked[subject.kind, _family(ask)],
                self._uses["kind " + subject.kind],
                self._rng.random(),
            )
            if best is None or rank < best_rank:
                best, best_rank = ask, rank
        if best is None:
            return []
        self._take(best)
        return [best]

    def _take(self, ask: Ask) -> None:
        self._uses[ask.subject.key] += 1
        self._uses["kind " + ask.subject.kind] += 1
        self._asked[ask.subject.kind, _family(ask)] += 1
        self._asks = [
            other
            for other in self._asks
            if (other.subject.key, other.attribute, other.entity)
            != (ask.subject.key, ask.attribute, ask.entity)
        ]


def _family(ask: Ask) -> str:
    for prefix in (DISH_PREFIX, "price at ", "problem", "open ", "total"):
        if ask.attribute.startswith(prefix):
            return prefix
    return ask.attribute


def single_turns(world: World, number: int) -> list[Session]:
    """The single-turn sessions. Raises ValueError when the world offers too few questions."""
    rng = world.plan.stream("questions")
    maker = SessionMaker(world.plan.stream("sessions"))
    pool = _Pool([ask for thing in world if thing.photographed for ask in candidates(world, thing, rng)], rng)
    refusals = max(round(number * UNANSWERABLE_SHARE), 2)
    chosen: list[Ask] = []
    for n in range(refusals):
        category = Category.MULTI_HOP if n % 4 == 3 else Category.KNOWLEDGE
        chosen.extend(pool.draw(category, answerable=False))
    for category, share in SHARES.items():
        have = sum(ask.category is category for ask in chosen)
        for _ in range(round(number * share) - have):
            chosen.extend(pool.draw(category))
    while len(chosen) < number:
        extra = pool.draw()
        if not extra:
            raise ValueError(f"only {len(chosen)} of {number} questions: ask for more entities")
        chosen.extend(extra)
    rng.shuffle(chosen)
    return [maker.session(f"q{n:04d}", [ask]) for n, ask in enumerate(chosen)]
