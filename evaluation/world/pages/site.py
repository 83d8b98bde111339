"""All pages of a world: official pages, reviews, price lists, rules, outdated pages and distractors."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from html import escape

from evaluation.world import wordstock
from evaluation.world.model import Fact, Place, Thing, World
from evaluation.world.naming import Names
from evaluation.world.pages.chrome import dress
from evaluation.world.pages.compose import box, paragraphs, remark, to_html
from evaluation.world.text import Elsewhere, Register, words_of
from evaluation.world.values import spoken_list

TODAY = date(2026, 3, 1)
PRICE = "price at "
_WORKS = {"author": "book", "artist": "painting", "designer": "game", "breeder": "seeds"}
_OWN_SITE = 0.4
_REVIEWED = 0.35
_OPENED = 0.3


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
        words = words_of(world.plan.split)
        self._registers, self._words = tuple(words.registers.values()), words.elsewhere
        self._sites = tuple(dict.fromkeys(site for each in self._registers for site in each.sites))

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

    def _page(self, title: str, body: str, *, site: str, age: int, about: Thing | None) -> Page:
        rng = self._rng
        modified = (TODAY - timedelta(days=age)).isoformat()
        related = rng.sample(self._titles, 3) if len(self._titles) >= 3 else []
        html = dress(title, body, site=site, modified=modified, related=related, rng=rng)
        number = rng.randrange(10**6)
        url = f"https://{slug(site)}.example/{slug(title)}-{number:06d}"
        return Page(url, title, html, modified, about.key if about else None)

    def _register(self, kind: str) -> Register | None:
        fitting = [register for register in self._registers if kind in register.pages]
        return self._rng.choice(fitting) if fitting else None

    def _about(self, thing: Thing) -> list[Page]:
        """The main page, which states all that pages know of the thing, and sometimes further ones."""
        rng = self._rng
        register = self._register(thing.kind)
        if register is None:
            return []
        said = [
            fact
            for fact in thing.facts.values()
            if Place.PAGES in fact.places and fact.attribute in register.pages[thing.kind]
        ]
        if not said:
            return []
        own = register.own_site and rng.random() < _OWN_SITE
        site = register.own_site.format(name=thing.name.split(",")[0]) if own else rng.choice(register.sites)
        title = rng.choice(register.titles).format(name=thing.name)
        opening = self._opening(register, thing) if rng.random() < _OPENED else []
        body = self._body(register, thing, said, before=opening, after=self._listing(thing))
        pages = [self._page(title, body, site=site, age=rng.randint(3, 200), about=thing)]
        if thing.photographed and rng.random() < _REVIEWED:
            pages.append(self._review(thing, said))
        stale = [fact for fact in said if fact.stale]
        if stale:
            pages.extend(self._contradiction(thing, stale))
        return pages

    def _body(
        self,
        register: Register,
        thing: Thing,
        facts: Sequence[Fact],
        *,
        before: Sequence[str] = (),
        after: Sequence[str] = (),
    ) -> str:
        """The facts in the register's words: paragraphs, with rows before or after them."""
        rng = self._rng
        rows: list[Fact] = []
        told: list[Fact] = []
        for fact in facts:
            row = register.rows_of(thing.kind, fact.attribute)
            only_row = not register.sentences_of(thing.kind, fact.attribute)
            (rows if row and (only_row or rng.random() < register.rows) else told).append(fact)
        texts = [*before, *paragraphs(register, thing, told, rng), *after]
        parts = [to_html(register, texts, rng), box(register, thing, rows, rng)]
        return "\n".join(part for part in rng.sample(parts, 2) if part)

    def _opening(self, register: Register, thing: Thing) -> list[str]:
        first = self._rng.choice(register.openings).format(s=thing.spoken)
        return [f"{first[0].upper()}{first[1:]} {remark(register, thing.kind, self._rng)}"]

    def _listing(self, thing: Thing) -> list[str]:
        """What the thing has made, as its own page lists it."""
        for relation, kind in _WORKS.items():
            works = [
                work.name
                for work in self._world.pointing_to(thing, relation)
                if work.kind == kind and work.documented
            ]
            if works:
                said = self._rng.choice(self._words.works[kind])
                return [said.format(name=thing.name, works=spoken_list(tuple(works)))]
        return []

    def _review(self, thing: Thing, said: list[Fact]) -> Page:
        rng = self._rng
        register = self._register(thing.kind)
        assert register is not None
        some = rng.sample(said, min(len(said), rng.randint(2, 3)))
        title = rng.choice(register.reviews).format(name=thing.name)
        body = self._body(register, thing, some, before=self._opening(register, thing))
        return self._page(title, body, site=rng.choice(register.sites), age=rng.randint(20, 500), about=thing)

    def _contradiction(self, thing: Thing, stale: list[Fact]) -> list[Page]:
        """An old page with the outdated value, and a recent one that confirms the truth."""
        rng, words = self._rng, self._words
        register = self._register(thing.kind)
        assert register is not None
        outdated = [replace(fact, value=fact.stale) for fact in stale if fact.stale]
        year = TODAY.year - rng.randint(5, 8)
        return [
            self._page(
                rng.choice(words.old_titles).format(name=thing.name, year=year),
                self._body(register, thing, outdated),
                site=rng.choice(words.old_sites), age=(TODAY.year - year) * 365, about=thing,
            ),
            self._page(
                rng.choice(words.news_titles).format(name=thing.name), self._body(register, thing, stale),
                site=rng.choice(register.sites), age=rng.randint(2, 90), about=thing,
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
                title = rng.choice(self._words.price_titles).format(store=store.name, n=start // 6 + 1)
                body = self._price_body(store, batch)
                site, age = f"{store.name} shop", rng.randint(1, 40)
                pages.append(self._page(title, body, site=site, age=age, about=store))
        return pages

    def _price_body(self, store: Thing, offers: list[tuple[Thing, Fact]]) -> str:
        rng, words = self._rng, self._words
        intro = escape(rng.choice(words.price_intros).format(store=store.name), quote=False)
        if rng.random() < 0.4:
            product, price = words.price_headings
            rows = "".join(
                f"<tr><td>{escape(thing.name, quote=False)}</td><td>{fact.value.text}</td></tr>"
                for thing, fact in offers
            )
            return f"<p>{intro}</p>\n<table><tr><th>{product}</th><th>{price}</th></tr>{rows}</table>"
        lines = [
            rng.choice(words.offers).format(name=thing.name, price=fact.value.text, store=store.name)
            for thing, fact in offers
        ]
        halves = (" ".join(lines[:3]), " ".join(lines[3:]))
        told = "\n".join(f"<p>{escape(half, quote=False)}</p>" for half in halves if half)
        return f"<p>{intro}</p>\n{told}"

    def _rules(self) -> list[Page]:
        pages = []
        for n, rule in enumerate(self._words.rules):
            body, site = _plain(rule.texts), self._rng.choice(self._words.rule_sites)
            pages.append(replace(self._page(rule.title, body, site=site, age=30 + n, about=None), rule=True))
        return pages

    def _distractors(self, number: int) -> list[Page]:
        names = Names(self._world.plan.stream("distractors"), self._world.plan.partition)
        pages = []
        for _ in range(max(number, 0)):
            title, texts = distraction(self._words, _town(names, self._world, self._rng), self._rng)
            site, age = self._rng.choice(self._sites), self._rng.randint(5, 2500)
            pages.append(self._page(title, _plain(texts), site=site, age=age, about=None))
        return pages


def distraction(words: Elsewhere, town: str, rng: random.Random) -> tuple[str, list[str]]:
    """Title and paragraphs of a page about nothing that is asked here."""
    topic = rng.choice(words.topics)
    fields = {
        "town": town,
        "verb": rng.choice(words.verbs),
        "object": rng.choice(words.objects),
        "dish": rng.choice(wordstock.DISHES),
    }
    sentences = [line.format(**fields) for line in topic.texts]
    rng.shuffle(sentences)
    cut = rng.randint(2, 4)
    title = topic.title.format(**fields)
    return title[0].upper() + title[1:], [" ".join(sentences[:cut]), " ".join(sentences[cut:])]


def _plain(texts: Sequence[str]) -> str:
    return "\n".join(f"<p>{escape(text, quote=False)}</p>" for text in texts)


def _town(names: Names, world: World, rng: random.Random) -> str:
    """A town: usually one that facts mention too, so that its name alone proves nothing."""
    mentioned = [
        fact.value.text
        for thing in world
        for fact in thing.facts.values()
        if fact.attribute in {"birthplace", "headquarters", "setting", "factory town"} and thing.documented
    ]
    return rng.choice(mentioned) if mentioned and rng.random() < 0.5 else names.town()
