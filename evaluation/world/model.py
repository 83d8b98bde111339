"""The world's model: things, their facts, and where each fact can be found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from evaluation.world.plan import Plan
from evaluation.world.values import Value

_WITH_ARTICLE = {"gadget", "museum", "plaque", "poster"}


class Place(StrEnum):
    """Where a fact is stated."""

    PRINTED = "printed"
    INFOBOX = "infobox"
    PAGES = "pages"


@dataclass(frozen=True)
class Fact:
    """One attribute of a thing; `stale` is the outdated value an old page still gives."""

    attribute: str
    value: Value
    places: frozenset[Place]
    stale: Value | None = None


@dataclass(frozen=True)
class Printed:
    """A line of text on the thing itself that is no fact, such as a blurb, or a row (label, text)."""

    text: str
    label: str = ""


@dataclass(frozen=True)
class Thing:
    """An entity: something to photograph, or a person, company or place that pages speak of.

    `style` seeds its look (siblings of one series share it); `links` name other things by key.
    """

    key: str
    kind: str
    name: str
    noun: str
    style: str
    facts: Mapping[str, Fact] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    rows: tuple[Printed, ...] = ()
    photographed: bool = False
    catalogued: bool = False
    documented: bool = False
    pronoun: str = "it"

    @property
    def spoken(self) -> str:
        """The name as it stands in a sentence: with an article, and with "in" before a shop's town."""
        if self.kind in _WITH_ARTICLE:
            return f"the {self.name}"
        return self.name.replace(", ", " in ") if self.kind == "shop" else self.name

    def fact(self, attribute: str) -> Fact | None:
        """The fact of that attribute, if the thing has one."""
        return self.facts.get(attribute)

    def known(self, attribute: str, *places: Place) -> Fact | None:
        """The fact if it is really findable in one of these places, given what exists of the thing."""
        fact = self.facts.get(attribute)
        if fact is None or not self.findable(fact, *places):
            return None
        return fact

    def findable(self, fact: Fact, *places: Place) -> bool:
        """Whether one of these places exists for this thing and states the fact."""
        there = {
            Place.PRINTED: self.photographed,
            Place.INFOBOX: self.catalogued,
            Place.PAGES: self.documented,
        }
        return any(there[place] and place in fact.places for place in places)


@dataclass(frozen=True)
class World:
    """Everything that is true, before any picture or page is made of it."""

    plan: Plan
    things: Mapping[str, Thing]

    def __iter__(self) -> Iterator[Thing]:
        return iter(self.things.values())

    def of_kind(self, kind: str) -> tuple[Thing, ...]:
        """All things of a kind, in order of creation."""
        return tuple(thing for thing in self if thing.kind == kind)

    def linked(self, thing: Thing, relation: str) -> Thing | None:
        """The thing this one points to, such as a book's author."""
        key = thing.links.get(relation)
        return self.things[key] if key else None

    def pointing_to(self, target: Thing, relation: str) -> tuple[Thing, ...]:
        """The things that point to this one, such as an author's books."""
        return tuple(thing for thing in self if thing.links.get(relation) == target.key)
