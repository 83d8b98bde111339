"""Comparisons in a question: what is compared, in which direction, between which two things."""

import re
from dataclasses import dataclass

from gateway.reasoning.extractive.lexical import fold

_ADJECTIVES: dict[str, tuple[str, int]] = {
    "cheaper": ("price", -1), "less expensive": ("price", -1), "more expensive": ("price", 1), "pricier": ("price", 1),
    "dearer": ("price", 1), "costlier": ("price", 1), "more affordable": ("price", -1), "costs more": ("price", 1), "cost more": ("price", 1),
    "costs less": ("price", -1), "cost less": ("price", -1), "better value": ("price", -1), "better price": ("price", -1), "lower price": ("price", -1), "best price": ("price", -1), "better deal": ("price", -1),
    "heavier": ("weight", 1), "lighter": ("weight", -1), "weighs more": ("weight", 1), "weigh more": ("weight", 1), "weighs less": ("weight", -1), "weigh less": ("weight", -1),
    "taller": ("height", 1), "higher": ("height", 1), "lower": ("height", -1), "longer": ("length", 1), "shorter": ("length", -1),
    "wider": ("width", 1), "narrower": ("width", -1), "thicker": ("depth", 1), "thinner": ("depth", -1), "deeper": ("depth", 1),
    "bigger": ("dimensions", 1), "larger": ("dimensions", 1), "smaller": ("dimensions", -1), "faster": ("speed", 1), "slower": ("speed", -1),
    "louder": ("noise level", 1), "quieter": ("noise level", -1), "stronger": ("alcohol content", 1), "more powerful": ("power", 1), "less powerful": ("power", -1),
    "older": ("age", 1), "newer": ("age", -1), "younger": ("age", -1), "more recent": ("age", -1), "earlier": ("age", 1), "later": ("age", -1), "first": ("age", 1), "sooner": ("age", 1), "last": ("age", -1),
    "healthier": ("energy", -1), "more fattening": ("energy", 1), "sweeter": ("sugar", 1), "saltier": ("salt", 1), "fattier": ("fat", 1),
    "lasts longer": ("battery life", 1), "last longer": ("battery life", 1), "more modern": ("age", -1), "better rated": ("rating", 1),
    "higher rated": ("rating", 1), "more populous": ("population", 1), "more caloric": ("energy", 1), "roomier": ("number of seats", 1),
}  # fmt: skip
_WORDS = "|".join(sorted((re.escape(a) for a in _ADJECTIVES), key=len, reverse=True))
_MORE = re.compile(r"\b(?P<dir>more|fewer|less|higher|lower|greater|bigger|larger|smaller|longer|shorter|the most|the fewest|the least)\s+(?:in )?(?P<noun>[a-z-]+(?: [a-z-]+)?)")
_DOWN = frozenset({"fewer", "less", "lower", "smaller", "shorter", "the fewest", "the least"})
_PAIR = re.compile(r"[,:—-]?\s*(?P<a>[^,:?]{1,80}?),?\s+or\s+(?P<b>[^?]{1,80})\??\s*$", re.I)
_THAN = re.compile(r"\bthan\s+(?P<b>[^?,]{1,80}?)(?:\?|,|$|\s+(?:is|are|was|does|did)\b)", re.I)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`adjective`: the comparing word; `measure`: a relation's name, or `age`, or "" when a noun gives it (`noun`).

    `direction` +1: the greater value wins (older counts as greater). `options`: the sides as worded;
    one side may be empty, which means the thing of the photo or the conversation. `how_much`: the
    difference itself is asked.
    """

    adjective: str
    measure: str
    noun: str
    direction: int
    options: tuple[str, ...]
    how_much: bool
    yes_no: bool


def find_comparison(question: str) -> Comparison | None:
    """The comparison that the question makes, or None: it needs a comparing word and two sides."""
    folded = fold(question)
    if _is_threshold(folded):
        return None
    found = _measure(folded)
    options = _options(question)
    if found is None or not options:
        return None
    adjective, measure, noun, direction = found
    how_much = re.search(r"\bhow (?:much|many)\b", folded) is not None
    yes_no = re.match(r"(?:is|are|was|were|does|do|did|has|have|will|would|can)\b", folded) is not None
    return Comparison(adjective, measure, noun, direction, options, how_much, yes_no and len(options) == 1)


def _is_threshold(folded: str) -> bool:
    """`less than 4 euros` compares with a number, not with a thing."""
    return re.search(r"\bthan (?:[€$£]\s?)?(?:\d|one\b|two\b|three\b|four\b|five\b|six\b|ten\b|twenty\b|a (?:dozen|hundred))", folded) is not None


def _measure(folded: str) -> tuple[str, str, str, int] | None:
    more = _MORE.search(folded)
    word = re.search(rf"\b(?:{_WORDS})\b", folded)
    if more and not (word and word.start() <= more.start() and len(word.group()) > len(more["dir"])):
        noun = more["noun"]
        if noun.split()[0] not in {"than", "or", "at", "in", "for", "when", "is", "was", "this", "the", "expensive"}:
            return more["dir"], "", noun, -1 if more["dir"] in _DOWN else 1
    if word is None:
        return None
    measure, direction = _ADJECTIVES[word.group()]
    return word.group(), measure, "", direction


def _options(question: str) -> tuple[str, ...]:
    than = _THAN.search(question)
    if than:
        return (_side(than["b"]),)
    compared = re.search(r"\b(?:compared (?:to|with)|versus|vs\.?|against)\s+([^?,]{1,80})", question, re.I)
    if compared:
        return (_side(compared.group(1)),)
    pair = _PAIR.search(question)
    if pair is None:
        return ()
    return _side(_tail(pair["a"])), _side(pair["b"])


def _tail(left: str) -> str:
    """The left option without the question before it."""
    quoted = re.search(r"([\"“][^\"”]+[\"”])\s*$", left)
    if quoted:
        return quoted.group(1)
    named = re.search(r"((?:the )?(?:[A-ZÀ-Þ][\w’'.&-]*|\d\w*)(?:\s+(?:(?:of|the|and|&|de|la|in|to|a)\s+){0,2}(?:[A-ZÀ-Þ][\w’'.&-]*|\d\w*))*)\s*$", left)
    if named:
        return named.group(1)
    pointed = re.search(r"\b((?:this|that|the|these|it|here|my)\b(?: \w+){0,4})\s*$", left, re.I)
    return pointed.group(1) if pointed else ""


def _side(text: str) -> str:
    side = text.strip(" ?.,!\"“”'‘’")
    side = re.sub(r"^(?:at|in|from|by|for)\s+", "", side, flags=re.I)
    if re.match(r"^(?:this|that|it|the one|these|here|mine|my)\b", side, re.I) and not re.search(r"[A-Z]", side[1:]):
        return ""
    return re.sub(r"^(?:the )?(?:book|novel|painting|product|shop|store|model|one called|one by)\s+(?=[A-Z\"])", "", side)
