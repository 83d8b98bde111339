"""Puts answers into sentences: short, with value and unit, free of links and instructions."""

import re
from collections.abc import Sequence

from gateway.reasoning.extractive.facts import Fact
from gateway.reasoning.extractive.lexical import mentions, visible

MAX_WORDS = 50
"""Keeps an answer under CRAG-MM's 75 tokens."""
QUOTED_WORDS = 32
"""A longer sentence is not said as it stands; its value is put into a sentence of our own."""

_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|(?:https?://|www\.)\S+|<[^>]{1,200}>", re.I)
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|rules?|prompts?|above|"
    r"previous|prior)\b"
    r"|\b(?:system prompt|you are now|as an ai|assistant:|reply with|respond with|answer with|"
    r"say that|your answer must|you must (?:say|answer|reply))\b"
    r"|<\|.*?\|>|\[/?INST\]|```",
    re.I,
)


def is_order(text: str) -> bool:
    """Whether a passage speaks to the reader like an instruction; such sentences are never quoted."""
    return _ORDER.search(text) is not None


def plain(text: str) -> str:
    """One clean line: no hidden characters, links, images or markup."""
    clean = _LINK.sub(lambda m: m.group(1) or "", visible(text))
    return re.sub(r"\s+", " ", clean).strip()


def shorten(text: str) -> str:
    """At most `MAX_WORDS` words, cut at a word."""
    pieces = text.split()
    return text if len(pieces) <= MAX_WORDS else " ".join(pieces[:MAX_WORDS]) + " …"


def finish(text: str) -> str:
    """A sentence ready to be said: clean, short, ending in a full stop."""
    done = shorten(plain(text)).strip()
    if done and done[-1] not in ".!?…":
        done += "."
    return done[:1].upper() + done[1:]


def state(fact: Fact) -> str:
    """The fact in one sentence: prose in its own words, an attribute as relation, subject and value."""
    if fact.from_prose and len(fact.quote.split()) <= QUOTED_WORDS:
        named = mentions(fact.quote, fact.subject)
        return finish(quote_of(fact) if named else f"{fact.subject}: {quote_of(fact)}")
    return finish(f"The {fact.relation.name} of {fact.subject} is {fact.value}")


def quote_of(fact: Fact) -> str:
    """The sentence a fact rests on, without a heading that ran into it."""
    return fact.quote.strip()


def listing(items: Sequence[str]) -> str:
    """`a, b and c`."""
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]


def number_text(value: float) -> str:
    """A number as one says it: no trailing zeros, at most four decimals, thousands unseparated."""
    rounded = round(value, 4)
    return str(int(rounded)) if rounded == int(rounded) else f"{rounded:.4f}".rstrip("0").rstrip(".")


def money_text(value: float, symbol: str = "€") -> str:
    """An amount with its sign: `€4`, `€4.50`."""
    return f"{symbol}{int(value)}" if value == int(value) else f"{symbol}{value:.2f}"
