"""Books and board games: series, authors and designers."""

from __future__ import annotations

from evaluation.world import wordstock as words
from evaluation.world.model import Fact, Thing
from evaluation.world.naming import Person
from evaluation.world.things.actors import add_person, person_value
from evaluation.world.things.builder import Builder, Exposure, boxed, described, printed, web
from evaluation.world.values import count, measure, name, phrase, several, year


def add_books(b: Builder) -> None:
    """An author and one to three books, often of one series."""
    rng = b.rng
    author, person = add_person(b, "author", born=b.year(1905, 1975))
    series = b.names.from_patterns(
        lambda: f"The {b.names.town()} {rng.choice(('Trilogy', 'Chronicles', 'Mysteries'))}"
    )
    publisher = b.names.from_patterns(
        lambda: f"{b.names.surname()} Press",
        lambda: f"{b.names.surname()} & {b.names.surname()}",
        lambda: f"{rng.choice(words.PLURALS).title()} Books",
    )
    style = b.key("bookstyle")
    in_series = b.chance(0.6)
    for n in range(rng.choice((1, 2, 2, 3))):
        exposure = b.main_exposure() if n == 0 else b.sibling_exposure()
        _add_book(b, exposure, author, person, publisher, series if in_series else "", style)


def _add_book(
    b: Builder,
    exposure: Exposure,
    author: Thing,
    person: Person,
    publisher: str,
    series: str,
    style: str,
) -> None:
    rng = b.rng
    key, title = b.key("book"), b.names.title()
    birth = author.facts["born"].value.plain
    written = b.year(max(int(str(birth)[:4]) + 24, 1935), 2024)
    genre = rng.choice(words.GENRES)
    facts = b.facts(
        exposure,
        printed("title", name(title)),
        printed("author", person_value(person), box=True),
        printed("series", name(series), box=True) if series else None,
        printed("publisher", name(publisher), box=True)
        if b.chance(0.4)
        else boxed("publisher", name(publisher)),
        boxed("pages", count(rng.randint(96, 720), "pages")),
        boxed("published", year(written)),
        boxed("genre", phrase(genre)),
        boxed("height", measure(rng.randint(170, 290) / 10, "cm")),
        b.maybe(0.5, lambda: boxed("cover artist", person_value(b.names.person()))),
        web("setting", name(b.names.town())),
        b.maybe(0.5, lambda: web("translator", person_value(b.names.person()))),
        b.maybe(0.4, lambda: web("award", name(f"{b.names.surname()} Prize"))),
        b.maybe(0.35, lambda: web("narrator", person_value(b.names.person()))),
    )
    if exposure.documented:
        facts |= b.prices(rng.randint(16, 60) / 2 + 0.4)
    look = style if series else key
    links = {"author": author.key}
    b.put(Thing(key, "book", title, "book", look, facts, links, (), *_exposed(exposure)))


def _exposed(exposure: Exposure) -> tuple[bool, bool, bool]:
    return exposure.photographed, exposure.catalogued, exposure.documented


def add_games(b: Builder) -> None:
    """One board game with its designer."""
    rng = b.rng
    designer, person = add_person(b, "game designer", born=b.year(1945, 1990))
    exposure = b.main_exposure()
    key, title = b.key("game"), b.names.title()
    low, high = rng.choice((2, 2, 3)), rng.choice((4, 5, 6, 8))
    facts: dict[str, Fact] = b.facts(
        exposure,
        printed("title", name(title)),
        printed("players", phrase(f"{low}–{high} players", f"{low}-{high}", f"{low} to {high}")),
        printed("minimum age", count(rng.choice((6, 8, 10, 12, 14)), "years")),
        printed("playing time", count(rng.choice((20, 30, 45, 60, 75, 90)), "minutes")),
        boxed("designer", person_value(person)),
        boxed("publisher", name(b.names.from_patterns(lambda: f"{b.names.brand()} Games"))),
        boxed("published", year(b.year(1985, 2024))),
        described("cards", count(rng.randint(36, 180), "cards")),
        boxed("languages", several(tuple(rng.sample(("English", "German", "French", "Danish"), 2)))),
        b.maybe(0.5, lambda: web("award", name(f"{b.names.surname()} Prize"))),
        b.maybe(0.4, lambda: web("expansion", name(b.names.title()))),
    )
    if exposure.documented:
        facts |= b.prices(rng.randint(30, 100) / 2 + 0.4)
    links = {"designer": designer.key}
    b.put(Thing(key, "game", title, "board game", key, facts, links, (), *_exposed(exposure)))
