"""Questions that put two facts together: comparisons and aggregations."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from evaluation.world.model import Place, Thing, World
from evaluation.world.questions.ask import (
    NAMING,
    Ask,
    Category,
    composed,
    deictic,
    domain_of,
    questions_of,
    route_of,
)
from evaluation.world.things.places import DISH_PREFIX
from evaluation.world.values import (
    Value,
    count,
    measure,
    money,
    name,
    phrase,
    several,
    spoken_list,
)

_PRICE = "price at "
_PRAISE = {
    ("book", "pages"): "is longer",
    ("gadget", "battery life"): "lasts longer",
    ("game", "cards"): "has more cards",
    ("food", "sugar"): "has more sugar",
    ("food", "calories"): "has more calories",
    ("seeds", "plant height"): "grows taller",
    ("painting", "year"): "is more recent",
}
_WORKS = {"author": "other books", "artist": "other paintings"}


def _number(value: Value) -> float:
    if isinstance(value.plain, str):
        return float(value.plain[:4])
    assert isinstance(value.plain, int | float)
    return float(value.plain)


def store_comparison(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """At which of two stores the thing is cheaper."""
    prices = [f for a, f in thing.facts.items() if a.startswith(_PRICE)]
    if len(prices) != 2 or not thing.documented:
        return
    cheap, dear = sorted(prices, key=lambda fact: _number(fact.value))
    a, b = cheap.attribute.removeprefix(_PRICE), dear.attribute.removeprefix(_PRICE)
    first, second = rng.sample((a, b), 2)
    query = composed(world, "cheaper store", rng, this=deictic(world, thing, rng), a=first, b=second)
    keys = tuple(store.key for store in world.of_kind("store") if store.name in (a, b))
    yield Ask(
        Category.COMPARISON, query,
        f"It is cheaper at {a}, where it costs {cheap.value.text}; {b} charges {dear.value.text}.",
        name(a), thing, thing.name, "cheaper store", "web",
        NAMING.get(thing.kind, ()), keys, (f"cheaper at {b}",), (b,), "shopping", "fast-changing",
    )  # fmt: skip


def named_comparison(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """The thing in the photo against another one that the question names."""
    for attribute, queries in questions_of(world).compared.get(thing.kind, {}).items():
        praise = _PRAISE[thing.kind, attribute]
        fact = thing.fact(attribute)
        route = route_of(thing, fact) if fact else None
        others = [
            other
            for other in world.of_kind(thing.kind)
            if other.key != thing.key
            and (theirs := other.known(attribute, Place.PAGES))
            and fact
            and _number(theirs.value) != _number(fact.value)
            and (thing.kind != "food" or other.noun == thing.noun)
        ]
        if fact is None or route is None or not others:
            continue
        other = rng.choice(others)
        theirs = other.facts[attribute]
        wins = _number(fact.value) > _number(theirs.value)
        best, worst = (thing, other) if wins else (other, thing)
        values = (fact.value.text, theirs.value.text)
        high, low = values if wins else values[::-1]
        query = rng.choice(queries).format(this=deictic(world, thing, rng), other=other.name)
        mine = ("this one", f"the {thing.noun} in the photo") if wins else ()
        web = (thing.key,) if "web" in route else ()
        yield Ask(
            Category.COMPARISON, query,
            f"{best.name} {praise}: {high} against {low} for {worst.name}.",
            name(best.name, *mine), thing, best.name, f"{attribute} compared",
            "image_kb+web" if "image_kb" in route else "web",
            NAMING.get(thing.kind, ()), (*web, other.key), (f"{worst.name} {praise}",), (worst.name,),
            domain_of(thing, attribute, rng),
        )  # fmt: skip


def dish_comparison(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """Which of two dishes on the menu is dearer."""
    if thing.kind != "menu":
        return
    dishes = [f for a, f in thing.facts.items() if a.startswith(DISH_PREFIX)]
    one, two = rng.sample(dishes, 2)
    if _number(one.value) == _number(two.value):
        return
    dear, cheap = (one, two) if _number(one.value) > _number(two.value) else (two, one)
    d, c = (f.attribute.removeprefix(DISH_PREFIX) for f in (dear, cheap))
    x, y = (f.attribute.removeprefix(DISH_PREFIX) for f in (one, two))
    query = composed(world, "dearer dish", rng, x=x, y=y)
    yield Ask(
        Category.COMPARISON, query,
        f"The {d} costs more, {dear.value.text}, while the {c} is {cheap.value.text}.",
        phrase(d), thing, thing.name, "dearer dish", "photo", (dear.attribute, cheap.attribute),
        (), (f"{c} is more expensive", f"{c} costs more"), (c,), "text understanding",
    )  # fmt: skip


def _dishes(thing: Thing, section: str = "") -> list[tuple[str, float]]:
    found = []
    for row in thing.rows:
        heading, dish = row.label.split("|")
        if not section or heading == section:
            found.append((dish, _number(thing.facts[DISH_PREFIX + dish].value)))
    return found


def menu_aggregations(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """Sets, sums, counts and extremes over a menu."""
    if thing.kind != "menu":
        return
    every = tuple(a for a in thing.facts if a.startswith(DISH_PREFIX))

    def ask(question: str, answer: str, value: Value, attribute: str, **fields: str) -> Ask:
        return Ask(
            Category.AGGREGATION, composed(world, question, rng, **fields), answer, value, thing, thing.name,
            attribute, "photo", every, (), (), (), "food",
        )  # fmt: skip

    section = rng.choice(("Drinks", "Dishes", "Desserts"))
    rows = _dishes(thing, section)
    limit = int(sorted(price for _, price in rows)[len(rows) // 2]) + 0.75
    below = tuple(dish for dish, price in rows if price < limit)
    cap, low = money(limit).text, section.lower()
    if below and len(below) < len(rows):
        rest = tuple(dish for dish, _ in rows if dish not in below)
        said = f"Under {cap} there is {spoken_list(below)}."
        cheap = ask("section below", said, several(below), f"{low} below {cap}", section=low, cap=cap)
        yield replace(cheap, must_not=rest)
    dear = max(_dishes(thing), key=lambda row: row[1])
    prices = [price for _, price in _dishes(thing)]
    if prices.count(dear[1]) == 1:
        said = f"The most expensive item is the {dear[0]} at {money(dear[1]).text}."
        yield ask("dearest item", said, phrase(dear[0]), "dearest item")
    (x, px), (y, py) = rng.sample(_dishes(thing), 2)
    total = money(px + py)
    yield ask("total", f"Together they cost {total.text}.", total, f"total {x}+{y}", x=x, y=y)
    number = count(len(rows))
    said = f"There are {number.text} {low} on the menu."
    yield ask("section count", said, number, f"number of {low}", section=low)


def works_aggregation(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """What else the author or painter has made, as the maker's page lists it."""
    for relation, question in _WORKS.items():
        maker = world.linked(thing, relation)
        fact = thing.fact(relation)
        route = route_of(thing, fact) if fact else None
        if maker is None or route is None or not maker.documented:
            continue
        works = [w for w in world.pointing_to(maker, relation) if w.documented and w.key != thing.key]
        if not works:
            continue
        titles = tuple(work.name for work in works)
        yield Ask(
            Category.AGGREGATION, composed(world, question, rng, this=deictic(world, thing, rng)),
            f"{maker.name} also made {spoken_list(titles)}." if relation == "artist"
            else f"{maker.name} also wrote {spoken_list(titles)}.",
            several(titles), thing, maker.name, "other works",
            "image_kb+web" if thing.kind == "painting" else "web",
            NAMING.get(thing.kind, ()), (maker.key,), (), (), domain_of(thing, relation, rng),
        )  # fmt: skip


def packet_calories(world: World, thing: Thing, rng: random.Random) -> Iterator[Ask]:
    """Energy of the whole pack, from the printed content and the energy per hundred."""
    calories, content = thing.fact("calories"), thing.fact("net content")
    if thing.kind != "food" or calories is None or content is None:
        return
    route = route_of(thing, calories)
    if route is None or not thing.photographed:
        return
    total = round(_number(calories.value) * _number(content.value) / 100)
    query = composed(world, "energy of the pack", rng)
    value = measure(total, "kcal", other_units=("calories",))
    shows = ("net content", "calories") if route == "photo" else ("net content", *NAMING["food"])
    yield Ask(
        Category.REASONING, query,
        f"The whole pack has about {total} kcal: {content.value.text} at {calories.value.text} per 100.",
        value, thing, thing.name, "calories of the pack", route, shows,
        (thing.key,) if "web" in route else (), (), (), "food",
    )  # fmt: skip
