"""All pages of a world: official pages, reviews, price lists, rules, outdated pages and distractors."""

from __future__ import annotations

import random
import re
import unicodedata
from dataclasses import dataclass, replace
from datetime import date, timedelta
from html import escape

from evaluation.world.model import Fact, Place, Thing, World
from evaluation.world.naming import Names
from evaluation.world.pages.chrome import dress
from evaluation.world.pages.compose import paragraphs, to_html
from evaluation.world.pages.fillers import distraction, remark
from evaluation.world.pages.prose_places import PROSE
from evaluation.world.pages.rules import RULE_PAGES
from evaluation.world.values import spoken_list

TODAY = date(2026, 3, 1)
PRICE = "price at "
_WORKS = {"author": "book", "artist": "painting", "designer": "game", "breeder": "seeds"}
_SITES = (
    "Small Encyclopedia",
    "The Daily Lantern",
    "Marginalia",
    "Corner & Quay",
    "Notes from the Road",
    "The Weekly Kiosk",
)


@dataclass(frozen=True)
class Page:
    """A web page; `about` is the key of the thing it is about, if any; `rule` marks general rules."""

    url: str
    title: str
    html: str
    last_modified: str
    about: str | None = None
    rule: bool = False


def slug(text: str) -> str:
    """A part of an address."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text.lower()).strip("-")


class Site:
    """Composes the pages of one world, all from one random stream."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rng = world.plan.stream("pages")
        self._titles = [thing.name for thing in world if thing.documented]

    def pages(self) -> list[Page]:
        """Every page, shuffled, no address twice."""
        found: list[Page] = []
        for thing in self._world:
            if thing.documented:
                found.extend(self._about(thing))
        found.extend(self._price_lists())
        found.extend(self._rules())
        found.extend(self._distractors(len(found) // 2))
        self._rng.shuffle(found)
        return found

    def _page(self, title: str, texts: list[str], *, site: str, age: int, about: Thing | None) -> Page:
        body = to_html(texts, self._rng, heading=about.name if about else "")
        return self._dressed(title, body, site=site, age=age, about=about)

    def _dressed(self, title: str, body: str, *, site: str, age: int, about: Thing | None) -> Page:
        rng = self._rng
        modified = (TODAY - timedelta(days=age)).isoformat()
        related = rng.sample(self._titles, 3) if len(self._titles) >= 3 else []
        html = dress(title, body, site=site, modified=modified, related=related, rng=rng)
        number = rng.randrange(10**6)
        url = f"https://{slug(site)}.example/{slug(title)}-{number:06d}"
        return Page(url, title, html, modified, about.key if about else None)

    def _about(self, thing: Thing) -> list[Page]:
        rng = self._rng
        said = [
            fact
            for fact in thing.facts.values()
            if Place.PAGES in fact.places and fact.attribute in PROSE.get(thing.kind, {})
        ]
        if not said:
            return []
        official = paragraphs(thing, said, rng) + self._listing(thing)
        site = f"{thing.name.split(',')[0]} online" if rng.random() < 0.4 else rng.choice(_SITES)
        pages = [self._page(thing.name, official, site=site, age=rng.randint(3, 200), about=thing)]
        if thing.photographed and rng.random() < 0.35:
            pages.append(self._review(thing, said))
        stale = [fact for fact in said if fact.stale]
        if stale:
            pages.extend(self._contradiction(thing, stale))
        return pages

    def _listing(self, thing: Thing) -> list[str]:
        """What the thing has made, as its own page lists it."""
        for relation, kind in _WORKS.items():
            works = [
                work.name
                for work in self._world.pointing_to(thing, relation)
                if work.kind == kind and work.documented
            ]
            if works:
                what = {"book": "books", "painting": "paintings", "game": "games"}.get(kind, "varieties")
                last = thing.name.rsplit(" ", 1)[-1]
                return [f"The {what} of {last} that are best known: {spoken_list(tuple(works))}."]
        return []

    def _review(self, thing: Thing, said: list[Fact]) -> Page:
        rng = self._rng
        some = rng.sample(said, min(len(said), rng.randint(2, 3)))
        title = rng.choice(("A closer look: {}", "{}, revisited", "What we think of {}")).format(thing.name)
        intro = f"A reader asked us about {thing.name}. {remark(thing.kind, rng)}"
        texts = [intro, *paragraphs(thing, some, rng)]
        return self._page(title, texts, site=rng.choice(_SITES), age=rng.randint(20, 500), about=thing)

    def _contradiction(self, thing: Thing, stale: list[Fact]) -> list[Page]:
        """An old page with the outdated value, and a recent one that confirms the truth."""
        rng = self._rng
        old = paragraphs(thing, stale, rng, stale=True)
        new = paragraphs(thing, stale, rng)
        year = TODAY.year - rng.randint(5, 8)
        return [
            self._page(
                f"{thing.name} in {year}", old, site="Old Clippings",
                age=(TODAY.year - year) * 365, about=thing,
            ),
            self._page(
                f"News about {thing.name}", new, site=rng.choice(_SITES),
                age=rng.randint(2, 90), about=thing,
            ),
        ]  # fmt: skip

    def _price_lists(self) -> list[Page]:
        rng = self._rng
        pages = []
        for store in self._world.of_kind("store"):
            offers = [
                (thing, fact)
                for thing in self._world
                if thing.documented and (fact := thing.fact(PRICE + store.name))
            ]
            rng.shuffle(offers)
            for start in range(0, len(offers), 6):
                batch = offers[start : start + 6]
                title = f"{store.name}: prices, list {start // 6 + 1}"
                body = self._price_body(store, batch)
                site, age = f"{store.name} shop", rng.randint(1, 40)
                pages.append(self._dressed(title, body, site=site, age=age, about=store))
        return pages

    def _price_body(self, store: Thing, offers: list[tuple[Thing, Fact]]) -> str:
        rng = self._rng
        patterns = (
            "{name} costs {price} at {store}.",
            "You pay {price} for {name} at {store}.",
            "At {store} we sell {name} for {price}.",
            "{store} has {name} in stock at {price}.",
        )
        lines = [
            rng.choice(patterns).format(name=thing.name, price=fact.value.text, store=store.name)
            for thing, fact in offers
        ]
        if rng.random() < 0.4:
            rows = "".join(
                f"<tr><td>{escape(thing.name, quote=False)}</td><td>{fact.value.text}</td></tr>"
                for thing, fact in offers
            )
            intro = f"<p>These are the current prices at {escape(store.name, quote=False)}.</p>"
            return f"{intro}\n<table><tr><th>Product</th><th>Price</th></tr>{rows}</table>"
        return to_html([" ".join(lines[:3]), " ".join(lines[3:])] if lines[3:] else [" ".join(lines)], rng)

    def _rules(self) -> list[Page]:
        pages = (
            self._page(title, list(texts), site="Good to Know", age=30 + n, about=None)
            for n, (title, texts) in enumerate(RULE_PAGES)
        )
        return [replace(page, rule=True) for page in pages]

    def _distractors(self, number: int) -> list[Page]:
        names = Names(self._world.plan.stream("distractors"), self._world.plan.partition)
        pages = []
        for _ in range(max(number, 0)):
            title, texts = distraction(_town(names, self._world, self._rng), self._rng)
            site, age = self._rng.choice(_SITES), self._rng.randint(5, 2500)
            pages.append(self._page(title, texts, site=site, age=age, about=None))
        return pages


def _town(names: Names, world: World, rng: random.Random) -> str:
    """A town: usually one that facts mention too, so that its name alone proves nothing."""
    mentioned = [
        fact.value.text
        for thing in world
        for fact in thing.facts.values()
        if fact.attribute in {"birthplace", "headquarters", "setting", "factory town"} and thing.documented
    ]
    return rng.choice(mentioned) if mentioned and rng.random() < 0.5 else names.town()
