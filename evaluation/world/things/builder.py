"""What every kind of thing is built with: names, draws, keys, and how much the world knows of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from evaluation.world.model import Fact, Place, Thing, World
from evaluation.world.naming import Names
from evaluation.world.plan import Plan
from evaluation.world.values import Value, money


@dataclass(frozen=True)
class Exposure:
    """Where a thing is met: in a photo, in the image knowledge base, on pages."""

    photographed: bool
    catalogued: bool
    documented: bool


# Most photographed things are known twice; some only by picture, some only by page, some not at all.
_KNOWN = (
    (0.70, Exposure(True, True, True)),
    (0.10, Exposure(True, True, False)),
    (0.13, Exposure(True, False, True)),
    (0.07, Exposure(True, False, False)),
)


class Builder:
    """Collects things while the world is being made; `world()` freezes it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.rng = plan.stream("facts")
        self.names = Names(plan.stream("names"), plan.partition)
        self.stores: tuple[Thing, ...] = ()
        self._things: dict[str, Thing] = {}

    @property
    def photographed(self) -> int:
        """How many things will be photographed so far."""
        return sum(thing.photographed for thing in self._things.values())

    def key(self, kind: str) -> str:
        """A key for the next thing of that kind."""
        return f"{kind}-{len(self._things):04d}"

    def put(self, thing: Thing) -> Thing:
        """Adds the thing to the world."""
        self._things[thing.key] = thing
        return thing

    def world(self) -> World:
        """The finished world."""
        return World(self.plan, dict(self._things))

    def main_exposure(self) -> Exposure:
        """How the first thing of a family is known."""
        draw, seen = self.rng.random(), 0.0
        for weight, exposure in _KNOWN:
            seen += weight
            if draw < seen:
                return exposure
        return _KNOWN[0][1]

    def sibling_exposure(self) -> Exposure:
        """How a sibling is known: mostly as a hard negative, now and then photographed too."""
        if self.rng.random() < 0.3:
            return Exposure(True, self.rng.random() < 0.85, True)
        return Exposure(False, self.rng.random() < 0.4, self.rng.random() < 0.75)

    def year(self, first: int, last: int) -> int:
        """A year within the bounds."""
        return self.rng.randint(first, last)

    def chance(self, probability: float) -> bool:
        """True with that probability."""
        return self.rng.random() < probability

    def facts(self, exposure: Exposure, *facts: Fact | None) -> dict[str, Fact]:
        """Facts by attribute; what an infobox would say moves to pages when there is no picture entry.

        With both, half of the infobox facts are on pages as well.
        """
        kept: dict[str, Fact] = {}
        for fact in facts:
            if fact is None:
                continue
            only_box = Place.INFOBOX in fact.places and Place.PAGES not in fact.places
            moved = only_box and (not exposure.catalogued or self.chance(0.5))
            places = fact.places | {Place.PAGES} if moved else fact.places
            kept[fact.attribute] = replace(fact, places=places)
        return kept

    def maybe(self, probability: float, make: Callable[[], Fact]) -> Fact | None:
        """The fact with that probability; making it only then keeps names from being used up."""
        return make() if self.chance(probability) else None

    def prices(self, thing_price: float) -> dict[str, Fact]:
        """Prices of one product at two stores, one of them dearer."""
        if len(self.stores) < 2:
            return {}
        first, second = self.rng.sample(self.stores, 2)
        other = round(thing_price * self.rng.uniform(1.08, 1.35), 1)
        return {
            f"price at {store.name}": web(f"price at {store.name}", money(price))
            for store, price in ((first, thing_price), (second, other))
        }


def printed(attribute: str, value: Value, *, box: bool = False) -> Fact:
    """A fact that can be read off the thing itself."""
    places = {Place.PRINTED, Place.INFOBOX} if box else {Place.PRINTED}
    return Fact(attribute, value, frozenset(places))


def boxed(attribute: str, value: Value) -> Fact:
    """A fact for the infobox."""
    return Fact(attribute, value, frozenset({Place.INFOBOX}))


def web(attribute: str, value: Value, stale: Value | None = None) -> Fact:
    """A fact that only pages state; `stale` is what an older page says."""
    return Fact(attribute, value, frozenset({Place.PAGES}), stale)


def described(thing_attribute: str, value: Value) -> Fact:
    """A fact in the infobox and on pages."""
    return Fact(thing_attribute, value, frozenset({Place.INFOBOX, Place.PAGES}))
