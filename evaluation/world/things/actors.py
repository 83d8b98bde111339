"""People, companies and places that things are linked to; pages speak of them, nobody photographs them."""

from __future__ import annotations

from datetime import date

from evaluation.world import wordstock as words
from evaluation.world.model import Fact, Thing
from evaluation.world.naming import Person
from evaluation.world.things.builder import Builder, web
from evaluation.world.values import Value, clock, count, day, money, name, phrase, year


def person_value(person: Person) -> Value:
    """A person's name as a value; the surname is unique, so it counts too."""
    return name(person.full, person.last, article=f"{person.full} (person)")


def _by_attribute(*facts: Fact | None) -> dict[str, Fact]:
    return {fact.attribute: fact for fact in facts if fact is not None}


def add_person(
    b: Builder, noun: str, *, born: int, died: int | None = None, documented: bool = True
) -> tuple[Thing, Person]:
    """A person with a life story on pages. `born` and `died` are years."""
    person = b.names.person()
    rng = b.rng
    birthday = date(born, rng.randint(1, 12), rng.randint(1, 28))
    deathday = date(died, rng.randint(1, 12), rng.randint(1, 28)) if died else None
    facts = _by_attribute(
        web("birthplace", name(b.names.town())),
        web("born", day(birthday)),
        web("died", day(deathday)) if deathday else None,
        web("studied", phrase(rng.choice(words.SUBJECTS))),
        web("first job", phrase(rng.choice(words.TRADES))),
        b.maybe(0.6, lambda: web("hobby", phrase(rng.choice(words.HOBBIES)))),
        b.maybe(0.35, lambda: web("spouse", person_value(b.names.person()))),
    )
    thing = Thing(
        b.key("person"), "person", person.full, noun, "", facts,
        documented=documented, pronoun="she" if person.woman else "he",
    )  # fmt: skip
    return b.put(thing), person


def add_company(b: Builder, noun: str, *, documented: bool = True) -> Thing:
    """A maker of things, known from pages."""
    rng = b.rng
    staff = rng.randint(4, 80) * 10
    facts = _by_attribute(
        web("founder", person_value(b.names.person())),
        web("founded", year(b.year(1880, 2012))),
        web("headquarters", name(b.names.town())),
        web("employees", count(staff, "people"), stale=count(staff // 2 + 3, "people")),
    )
    key = b.key("company")
    return b.put(Thing(key, "company", b.names.brand(), noun, "", facts, documented=documented))


def add_store(b: Builder) -> Thing:
    """A chain store: its pages list prices and how long one may return things."""
    chain = b.names.from_patterns(
        lambda: f"{b.rng.choice(words.TOWN_HEADS)}mart",
        lambda: f"{b.rng.choice(words.ADJECTIVES).title()} Basket",
        lambda: f"{b.names.surname()} Stores",
        lambda: f"Kaufhaus {b.rng.choice(words.SURNAME_HEADS)}{b.rng.choice(words.SURNAME_TAILS)}",
    )
    facts = _by_attribute(
        web("return period", count(b.rng.choice((10, 14, 21, 28, 30, 45)), "days")),
        web("headquarters", name(b.names.town())),
    )
    return b.put(Thing(b.key("store"), "store", chain, "chain", "", facts, documented=True))


def add_venue(b: Builder) -> Thing:
    """A hall or theatre where events take place."""
    hall = b.names.from_patterns(
        lambda: f"{b.names.town()} Hall",
        lambda: f"{b.names.surname()} Theatre",
        lambda: f"Old {b.rng.choice(words.NOUNS).title()} House",
    )
    seats = b.rng.randint(12, 240) * 10
    facts = _by_attribute(
        web("capacity", count(seats, "people")),
        web("built", year(b.year(1840, 2015))),
        web("architect", person_value(b.names.person())),
        web("town", name(b.names.town())),
    )
    return b.put(Thing(b.key("venue"), "venue", hall, "hall", "", facts, documented=True))


def add_museum(b: Builder) -> Thing:
    """A museum that owns paintings."""
    title = b.names.from_patterns(
        lambda: f"{b.names.town()} Museum of Art",
        lambda: f"{b.names.surname()} Collection",
        lambda: f"{b.names.town()} Gallery",
    )
    ticket = b.rng.choice((7, 8, 9, 11, 12, 14))
    closed = b.rng.choice(("Monday", "Tuesday", "Wednesday"))
    facts = _by_attribute(
        web("town", name(b.names.town())),
        web("founded", year(b.year(1850, 1990))),
        web("ticket price", money(ticket), stale=money(ticket - b.rng.choice((1.5, 2, 3)))),
        web("closed day", phrase(closed, closed + "s")),
        web("opening time", clock(b.rng.choice((9, 10, 11)))),
    )
    return b.put(Thing(b.key("museum"), "museum", title, "museum", "", facts, documented=True))
