"""Paintings, event posters and commemorative plaques."""

from __future__ import annotations

from datetime import date, timedelta

from evaluation.world import wordstock as words
from evaluation.world.model import Printed, Thing
from evaluation.world.things.actors import add_museum, add_person, add_venue, person_value
from evaluation.world.things.builder import Builder, Exposure, boxed, printed, web
from evaluation.world.values import clock, count, day, money, name, phrase, size, year


def _exposed(exposure: Exposure) -> tuple[bool, bool, bool]:
    return exposure.photographed, exposure.catalogued, exposure.documented


def add_paintings(b: Builder) -> None:
    """A painter with one to three works in one museum; no work bears any text."""
    born = b.year(1790, 1915)
    died = born + b.rng.randint(46, 88)
    painter, person = add_person(b, "painter", born=born, died=min(died, 2019))
    museum = add_museum(b)
    for n in range(b.rng.choice((1, 2, 2, 3))):
        exposure = b.main_exposure() if n == 0 else b.sibling_exposure()
        rng, key, title = b.rng, b.key("painting"), b.names.title()
        painted = b.year(born + 20, min(died, 2019) - 1)
        facts = b.facts(
            exposure,
            boxed("title", name(title)),
            boxed("artist", person_value(person)),
            boxed("year", year(painted)),
            boxed("medium", phrase(rng.choice(words.MEDIA))),
            boxed("dimensions", size(rng.randint(24, 180), rng.randint(24, 180))),
            boxed("museum", name(museum.name)),
            web("depicted place", name(b.names.town())),
            b.maybe(0.6, lambda: web("sale price", money(b.rng.randint(12, 940) * 1000))),
            b.maybe(0.5, lambda: web("first owner", person_value(b.names.person()))),
            b.maybe(0.35, lambda: web("restored", year(b.year(1975, 2023)))),
        )
        links = {"artist": painter.key, "museum": museum.key}
        b.put(Thing(key, "painting", title, "painting", key, facts, links, (), *_exposed(exposure)))


def add_posters(b: Builder) -> None:
    """One event at a venue."""
    rng = b.rng
    venue = add_venue(b)
    exposure = b.main_exposure()
    key = b.key("poster")
    title = b.names.from_patterns(
        lambda: f"{b.names.town()} {rng.choice(words.EVENTS).title()}",
        lambda: f"{rng.choice(words.ADJECTIVES).title()} {rng.choice(words.EVENTS).title()}",
    )
    on = date(2026, 1, 10) + timedelta(days=rng.randint(0, 640))
    price = money(rng.choice((6, 8, 9.5, 12, 14, 15, 18, 22.5, 25)))
    visitors = rng.randint(8, 90) * 100
    facts = b.facts(
        exposure,
        printed("event", name(title)),
        printed("date", day(on)),
        printed("venue", name(venue.name)),
        printed("ticket price", price),
        printed("starting time", clock(rng.choice((14, 17, 18, 19, 20)), rng.choice((0, 30)))),
        printed("headliner", person_value(b.names.person())),
        boxed("organiser", name(b.names.from_patterns(lambda: f"{b.names.town()} Arts Trust"))),
        boxed("first held", year(b.year(1951, 2021))),
        web("attendance", count(visitors, "visitors"), stale=count(visitors - 300, "visitors")),
        web("minimum age", count(rng.choice((12, 14, 16, 18)), "years")) if b.chance(0.6) else None,
        b.maybe(0.35, lambda: web("sponsor", name(b.names.brand()))),
    )
    links = {"venue": venue.key}
    b.put(Thing(key, "poster", title, "event", key, facts, links, (), *_exposed(exposure)))


def add_plaques(b: Builder) -> None:
    """A plaque for a person who did something once."""
    rng = b.rng
    born = b.year(1690, 1890)
    died = born + rng.randint(31, 92)
    exposure = b.main_exposure()
    honoured, person = add_person(b, "local figure", born=born, died=died, documented=exposure.documented)
    key, deed = b.key("plaque"), rng.choice(words.DEEDS)
    society = b.names.from_patterns(lambda: f"{b.names.town()} {rng.choice(words.SOCIETIES)}")
    facts = b.facts(
        exposure,
        printed("person", person_value(person)),
        printed("birth year", year(born)),
        printed("death year", year(died)),
        printed("deed", phrase(deed)),
        boxed("erected", year(b.year(1921, 2022))),
        boxed("erected by", name(society)),
        boxed("material", phrase(rng.choice(("cast bronze", "enamelled iron", "slate", "sandstone")))),
        web("sculptor", person_value(b.names.person())) if b.chance(0.5) else None,
    )
    rows = (Printed(f"{born} – {died}", "years"), Printed(deed, "deed"))
    full, links = f"{person.full} plaque", {"person": honoured.key}
    b.put(Thing(key, "plaque", full, "plaque", key, facts, links, rows, *_exposed(exposure)))
