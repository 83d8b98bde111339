"""Turns facts into paragraphs: a named subject first, then pronouns, with fact-free remarks between."""

from __future__ import annotations

import random
from collections.abc import Sequence
from html import escape

from evaluation.world.model import Fact, Thing
from evaluation.world.pages.fillers import remark
from evaluation.world.pages.prose_places import PROSE
from evaluation.world.values import Value

_LINKS = ("", "", "", "By the way, ", "Incidentally, ", "As far as we know, ", "For the record, ")
_POSSESSIVE = {"it": "its", "she": "her", "he": "his"}
_THEY = {"person"}


def subject(thing: Thing, *, first: bool, rng: random.Random) -> tuple[str, str]:
    """How to refer to the thing (subject, possessive): its name first, later often a stand-in."""
    if first or rng.random() < 0.35:
        return thing.name, f"{thing.name}'s"
    if thing.kind in _THEY:
        last = thing.name.rsplit(" ", 1)[-1]
        return last, f"{last}'s"
    return f"the {thing.noun}", _POSSESSIVE[thing.pronoun]


def sentence(thing: Thing, attribute: str, value: Value, *, first: bool, rng: random.Random) -> str | None:
    """One sentence stating the value, or None when pages have no way to say this attribute."""
    templates = PROSE.get(thing.kind, {}).get(attribute)
    if templates is None:
        return None
    who, whose = subject(thing, first=first, rng=rng)
    body = rng.choice(templates).format(s=who, p=whose, v=value.text)
    lead = "" if first else rng.choice(_LINKS)
    said = lead + body
    return said[0].upper() + said[1:] + "."


def paragraphs(thing: Thing, facts: Sequence[Fact], rng: random.Random, *, stale: bool = False) -> list[str]:
    """The facts in shuffled order, two to four to a paragraph; `stale` gives outdated values."""
    order = list(facts)
    rng.shuffle(order)
    result: list[str] = []
    while order:
        group = [order.pop() for _ in range(min(len(order), rng.randint(2, 4)))]
        lines: list[str] = []
        for fact in group:
            value = fact.stale if stale and fact.stale else fact.value
            said = sentence(thing, fact.attribute, value, first=not lines, rng=rng)
            if said:
                lines.append(said)
        if not lines:
            continue
        lines.insert(rng.randint(1, len(lines)), remark(thing.kind, rng))
        result.append(" ".join(lines))
    return result


def to_html(texts: Sequence[str], rng: random.Random, *, heading: str = "") -> str:
    """Paragraphs as HTML, now and then with emphasis or a subheading as real pages have."""
    parts: list[str] = []
    for n, text in enumerate(texts):
        if n and heading and rng.random() < 0.3:
            parts.append(f"<h2>{escape(heading)}</h2>")
        parts.append(f"<p>{escape(text, quote=False)}</p>")
    return "\n".join(parts)
