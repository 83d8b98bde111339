"""Comparisons in a question: what is compared, in which direction, between which two things."""

import re
from dataclasses import dataclass

from gateway.reasoning.extractive.lexical import fold

_ADJECTIVES: dict[str, tuple[str, int]] = {
    "cheaper": ("price", -1),
    "less expensive": ("price", -1),
    "more expensive": ("price", 1),
    "pricier": ("price", 1),
    "dearer": ("price", 1),
    "costlier": ("price", 1),
    "more affordable": ("price", -1),
    "costs more": ("price", 1),
    "cost more": ("price", 1),
    "costs less": ("price", -1),
    "cost less": ("price", -1),
    "better value": ("price", -1),
    "better price": ("price", -1),
    "lower price": ("price", -1),
    "best price": ("price", -1),
    "better deal": ("price", -1),
    "pay less": ("price", -1),
    "pay more": ("price", 1),
    "save money": ("price", -1),
    "spend less": ("price", -1),
    "cheapest": ("price", -1),
    "least money": ("price", -1),
    "heavier": ("weight", 1),
    "lighter": ("weight", -1),
    "weighs more": ("weight", 1),
    "weigh more": ("weight", 1),
    "weighs less": ("weight", -1),
    "weigh less": ("weight", -1),
    "taller": ("height", 1),
    "higher": ("height", 1),
    "lower": ("height", -1),
    "longer": ("length", 1),
    "shorter": ("length", -1),
    "wider": ("width", 1),
    "narrower": ("width", -1),
    "thicker": ("number of pages", 1),
    "thinner": ("number of pages", -1),
    "deeper": ("depth", 1),
    "bigger": ("dimensions", 1),
    "larger": ("dimensions", 1),
    "smaller": ("dimensions", -1),
    "faster": ("speed", 1),
    "slower": ("speed", -1),
    "louder": ("noise level", 1),
    "quieter": ("noise level", -1),
    "stronger": ("alcohol content", 1),
    "more powerful": ("power", 1),
    "less powerful": ("power", -1),
    "older": ("age", 1),
    "newer": ("age", -1),
    "younger": ("age", -1),
    "more recent": ("age", -1),
    "earlier": ("age", 1),
    "later": ("age", -1),
    "first": ("age", 1),
    "sooner": ("age", 1),
    "last": ("age", -1),
    "more modern": ("age", -1),
    "healthier": ("energy", -1),
    "more fattening": ("energy", 1),
    "sweeter": ("sugar", 1),
    "saltier": ("salt", 1),
    "fattier": ("fat", 1),
    "lasts longer": ("battery life", 1),
    "last longer": ("battery life", 1),
    "keeps going longer": ("battery life", 1),
    "runs longer": ("battery life", 1),
    "better battery": ("battery life", 1),
    "better rated": ("rating", 1),
    "higher rated": ("rating", 1),
    "more populous": ("population", 1),
    "more caloric": ("energy", 1),
    "roomier": ("number of seats", 1),
    "richer": ("energy", 1),
    "better": ("rating", 1),
    "poorer": ("energy", -1),
    "longest": ("length", 1),
    "oldest": ("age", 1),
    "newest": ("age", -1),
    "heaviest": ("weight", 1),
    "lightest": ("weight", -1),
    "tallest": ("height", 1),
}
_WORDS = "|".join(sorted((re.escape(a) for a in _ADJECTIVES), key=len, reverse=True))
_MORE = re.compile(
    r"\b(?P<dir>more|fewer|less|higher|lower|greater|the most|the fewest|the least|most|fewest|"
    r"richer in|poorer in|better)\s+(?:in )?(?P<noun>[a-z-]+(?: [a-z-]+)?)"
)
_DOWN = frozenset({"fewer", "less", "lower", "the fewest", "the least", "fewest", "poorer in"})
_NO_NOUN = frozenset(
    [
        "than",
        "or",
        "at",
        "in",
        "for",
        "when",
        "is",
        "was",
        "this",
        "the",
        "expensive",
        "affordable",
        "if",
        "it",
        "on",
        "money",
    ]
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`adjective` compares by `measure` (a relation's name, or `age`) or by a `noun`.

    `direction` +1: the greater value wins (older counts as greater). `options`: the sides as worded;
    an empty side is the thing of the photo or the conversation. `how_much`: the difference is asked.
    """

    adjective: str
    measure: str
    noun: str
    direction: int
    options: tuple[str, ...]
    how_much: bool
    yes_no: bool


def find_comparison(question: str, names: tuple[str, ...]) -> Comparison | None:
    """The comparison that the question makes, or None: it needs a comparing word and two sides."""
    folded = fold(question)
    if _is_threshold(folded):
        return None
    found = _measure(folded)
    options = _options(question, names)
    if found is None or not options:
        return None
    adjective, measure, noun, direction = found
    how_much = re.search(r"\bhow (?:much|many)\b", folded) is not None
    yes_no = re.match(r"(?:is|are|was|were|does|do|did|has|have|will|would|can)\b", folded) is not None
    return Comparison(adjective, measure, noun, direction, options, how_much, yes_no and len(options) == 1)


def _is_threshold(folded: str) -> bool:
    """`less than 4 euros` compares with a number, not with a thing."""
    return (
        re.search(
            (
                r"\bthan (?:[€$£]\s?)?(?:\d|one\b|two\b|three\b|four\b|five\b|six\b|ten\b|twenty\b|"
                r"a (?:dozen|hundred)|that\b)"
            ),
            folded,
        )
        is not None
    )


def _measure(folded: str) -> tuple[str, str, str, int] | None:
    more = _MORE.search(folded)
    word = re.search(rf"\b(?:{_WORDS})\b", folded)
    if more and more["noun"].split()[0] not in _NO_NOUN:
        longer_word = (
            word is not None and word.start() <= more.start() and len(word.group()) > len(more["dir"])
        )
        if not longer_word or (word is not None and word.group() == "richer"):
            return more["dir"], "", more["noun"], -1 if more["dir"] in _DOWN else 1
    if word is None:
        return None
    measure, direction = _ADJECTIVES[word.group()]
    return word.group(), measure, "", direction


def _options(question: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The named sides, each as fully as it is worded; a lone one stands against the thing at hand."""
    if not re.search(
        r"\bor\b|\bthan\b|\bcompared\b|\bversus\b|\bvs\b|\bagainst\b|\bbetween\b", question, re.I
    ):
        return ()
    sides = tuple(_in_full(name, question) for name in names[:2])
    if len(sides) == 2:
        return sides
    if len(sides) == 1:
        return sides if re.search(r"\bthan\b", question, re.I) else ("", sides[0])
    return ()


_AFTER_NAME = re.compile(
    r"(?P<more>(?:\s+(?!is\b|was\b|are\b|were\b|or\b|and\b|in\b|at\b|on\b|if\b|to\b|for\b|the\b|"
    r"painted\b|published\b|richer\b|which\b|has\b|have\b|contain|made\b|written\b|"
    r"when\b)[a-zà-ÿ-]+){1,2})(?=\s*(?:[?,.]|$|\s(?:or|is|was|has|have|which|richer|in|if)\b))"
)


def _in_full(name: str, question: str) -> str:
    """The name with the small words that belong to it ("Birchbridge Wonder tomato")."""
    at = question.find(name)
    if at < 0:
        return name
    match = _AFTER_NAME.match(question[at + len(name) :])
    return name + match["more"] if match else name
