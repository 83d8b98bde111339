"""Turns facts into the parts of a page: sentences in paragraphs, and rows in a table or list."""

from __future__ import annotations

import random
from collections.abc import Sequence
from html import escape

from evaluation.world.model import Fact, Thing
from evaluation.world.text import Register, article
from evaluation.world.values import Value

_POSSESSIVE = {"it": "its", "she": "her", "he": "his"}
_ENDS = (".", "!", "?", ".”", "!”", "?”")
_NAMED_AGAIN = 0.35
_PRONOUN = 0.4
_LED_IN = 0.3
_REMARKED = 0.6
_HEADED = 0.3


def subject(
    register: Register, thing: Thing, template: str, *, first: bool, rng: random.Random
) -> tuple[str, str]:
    """How to refer to the thing (subject, possessive): its name first, later often less than that.

    A pronoun takes the place of a subject at the beginning of the sentence only.
    """
    if first or register.always_named or rng.random() < _NAMED_AGAIN:
        return thing.spoken, _owned(thing.spoken)
    if template.startswith(("{s} ", "{p} ")) and rng.random() < _PRONOUN:
        return thing.pronoun, _POSSESSIVE[thing.pronoun]
    if thing.kind == "person":
        last = thing.name.rsplit(" ", 1)[-1]
        return last, _owned(last)
    return f"the {thing.noun}", f"the {thing.noun}'s"


def _owned(name: str) -> str:
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def sentence(
    register: Register, thing: Thing, attribute: str, value: Value, *, first: bool, rng: random.Random
) -> str:
    """One sentence that states the value."""
    template = rng.choice(register.sentences_of(thing.kind, attribute))
    who, whose = subject(register, thing, template, first=first, rng=rng)
    body = template.format(s=who, p=whose, v=value.text, a=article(value.text))
    lead = rng.choice(register.links) if not first and register.links and rng.random() < _LED_IN else ""
    said = lead + body
    return said[0].upper() + said[1:] + ("" if said.endswith(_ENDS) else ".")


def remark(register: Register, kind: str, rng: random.Random) -> str:
    """A sentence that fits the kind of thing and states nothing about it."""
    return rng.choice((*register.remarks.get(kind, ()), *register.remarks["any"]))


def paragraphs(register: Register, thing: Thing, facts: Sequence[Fact], rng: random.Random) -> list[str]:
    """The facts in shuffled order, two to four to a paragraph."""
    order = list(facts)
    rng.shuffle(order)
    result: list[str] = []
    while order:
        group = [order.pop() for _ in range(min(len(order), rng.randint(2, 4)))]
        lines: list[str] = []
        for fact in group:
            lines.append(sentence(register, thing, fact.attribute, fact.value, first=not lines, rng=rng))
        if rng.random() < _REMARKED:
            lines.insert(rng.randint(1, len(lines)), remark(register, thing.kind, rng))
        result.append(" ".join(lines))
    return result


def box(register: Register, thing: Thing, facts: Sequence[Fact], rng: random.Random) -> str:
    """The facts as rows of a table or of a list, in HTML; empty for no facts."""
    rows = [
        rng.choice(register.rows_of(thing.kind, fact.attribute)).format(
            v=escape(fact.value.text, quote=False)
        )
        for fact in facts
    ]
    if not rows:
        return ""
    if rng.random() < 0.5:
        return "<ul>" + "".join(f"<li>{row}</li>" for row in rows) + "</ul>"
    cells = (row.split(": ", 1) for row in rows)
    body = "".join(f"<tr><th>{label}</th><td>{text}</td></tr>" for label, text in cells)
    return f"<table>{body}</table>"


def to_html(register: Register, texts: Sequence[str], rng: random.Random) -> str:
    """Paragraphs as HTML, with the names of their writers or, now and then, a subheading above."""
    parts: list[str] = []
    for n, text in enumerate(texts):
        if register.voices:
            parts.append(f"<h4>{escape(rng.choice(register.voices))}</h4>")
        elif n and rng.random() < _HEADED:
            parts.append(f"<h2>{escape(rng.choice(register.headings))}</h2>")
        parts.append(f"<p>{escape(text, quote=False)}</p>")
    return "\n".join(parts)
