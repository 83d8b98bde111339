"""Comparisons of two things by a measure: "is this longer than Tower Bridge?", "which is older, A or B?"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from language.quantities import quantities
from language.questions import read_question
from language.reference import AUXILIARIES, LONGEST
from language.words import STOP_WORDS, Word, remembered, word_set

_LESS = word_set(
    "short small little few cheap light low narrow near close slow cold cool thin shallow quiet young"
)
"""Adjectives of which more means less of their measure: "shorter" has the smaller length."""
_LATER = word_set("new young recent late modern")
_AGE = _LATER | word_set("old early ancient")
_COST = word_set("cheap expensive costly dear")
_IRREGULAR = {
    "elder": "old",
    "further": "far",
    "farther": "far",
    "later": "late",
    "fewer": "few",
    "nearer": "near",
}
_NONE = word_set(
    "other rather never ever over under after number either neither whether another better worse"
)
_AGES = ("how old is {}?", *(f"when was {{}} {verb}?" for verb in ("built", "founded", "published", "born")))
_AFTER = re.compile(
    r"[\s,:;-]*(?:is it\s+)?(?P<one>.+?),?\s+or\s+(?P<two>.+?)[\s?.!]*", re.IGNORECASE | re.DOTALL
)
_BEFORE = re.compile(
    r"(?:which (?:one )?of\s+)?(?P<one>.+?)\s+(?:or|and)\s+(?P<two>.+?)[\s,:;?-]*(?:(?:which|who|what)\b.*)?",
    re.IGNORECASE | re.DOTALL,
)
_SILENT = word_set("large wide late safe close strange rare pure fine nice simple")
"""Adjectives whose e "-er" swallows."""
_BE = word_set("is are was were")
_MORE = word_set("more less fewer")
_COUNTED = re.compile(r"[\d.,]+ ([a-z]+)")
_LONGEST_SIDE = 80
"""Characters; what is longer is no thing's name."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two things, and questions (`{}` for a thing) whose answers are to be compared; the first that has one.

    `by_age`: the answers may be dates. `larger`: whether the thing with the larger value is meant; `later`:
    with dates, the one of a later date.
    `chooses`: one of the two is to be named; else it is asked whether the first is the one.
    """

    sides: tuple[str, str]
    asks: tuple[str, ...]
    by_age: bool
    larger: bool
    later: bool
    chooses: bool


@remembered(256)
def comparison(text: str) -> Comparison | None:
    """What two things are compared by; None for a question that does not compare two."""
    words = read_question(text).words
    if not words or words[0].folded == "how" or len(text) > LONGEST:
        return None
    for place in range(1, len(words)):
        word, after = words[place], words[place + 1] if place + 1 < len(words) else None
        more = word.folded if word.folded in _MORE and after is not None and after.folded != "than" else ""
        if more and after is not None:
            adjective, end = after.folded, after.end
        elif (root := _positive(word.folded)) and _is_predicate(text, words, place):
            adjective, end = root, word.end
        else:
            continue
        sides, chooses = _sides(text[: word.start], text[end:])
        if sides is not None:
            counts = bool(more) and not any(each.folded in _BE for each in words[:place])
            return _compared(sides, chooses, adjective, more, counts)
    return None


def _is_predicate(text: str, words: Sequence[Word], place: int) -> bool:
    """Whether the word stands where a comparative does: before "than", or with no noun behind it."""
    if place + 1 == len(words) or words[place + 1].folded == "than":
        return True
    before, gap = words[place - 1].folded, text[words[place].end : words[place + 1].start]
    return before in _BE | {"the"} and (bool(gap.strip()) or words[place + 1].folded in STOP_WORDS)


def _positive(word: str) -> str | None:
    """ "long" of "longer"; None where the word is no comparative."""
    if word in _IRREGULAR or word in _NONE or not re.fullmatch(r"[a-z]{2,}er", word):
        return _IRREGULAR.get(word)
    root = word[:-2]
    if root.endswith("i"):
        return f"{root[:-1]}y"
    if len(root) > 3 and root[-1] == root[-2] and root[-1] in "dgnt":
        return root[:-1]
    return f"{root}e" if f"{root}e" in _SILENT else root


def _sides(head: str, rest: str) -> tuple[tuple[str, str] | None, bool]:
    """The two things from what stands before and after the comparative, and whether one is to be chosen."""
    than = re.match(r"\s*(?:\w+\s+)?than\s+(.+)", rest, re.IGNORECASE | re.DOTALL)
    if than is not None:
        asked = read_question(head)
        first = asked.words[0].folded if asked.words else ""
        left = (
            re.sub(r"\s+(?:have|has|cost|weigh|get)\s*\Z", "", head[asked.words[0].end :])
            if first in AUXILIARIES
            else ""
        )
        return _named(left, than[1]), False
    match = _AFTER.fullmatch(rest) or _BEFORE.fullmatch(_without_verb(head))
    return (None, True) if match is None else (_named(match["one"], match["two"]), True)


def _without_verb(head: str) -> str:
    words = read_question(head).words
    first = words[0].end if words and words[0].folded in AUXILIARIES else 0
    return re.sub(r"\s+(?:is|was|are|were|has|have|costs?)(?:\s+the)?\s*\Z", "", head[first:]).strip()


def _named(one: str, two: str) -> tuple[str, str] | None:
    sides = one.strip(" ,:;?.!"), two.strip(" ,:;?.!")
    return sides if all(0 < len(side) <= _LONGEST_SIDE for side in sides) else None


def _compared(sides: tuple[str, str], chooses: bool, adjective: str, more: str, counts: bool) -> Comparison:
    """`more`: the word before the adjective, if there is one; `counts`: before a noun ("more pages")."""
    if counts:
        asks: tuple[str, ...] = (f"how many {adjective} does {{}} have?",)
        return Comparison(sides, asks, False, more == "more", True, chooses)
    less = (adjective in _LESS | _LATER) is (more != "less")
    later = (adjective in _LATER) is (more != "less")
    counted = _COUNTED.fullmatch(sides[1])
    if counted is not None and quantities(sides[1]) and not quantities(sides[1])[0].dimension:
        asks = (f"how many {counted[1]} does {{}} have?",)
    elif adjective in _COST:
        asks = ("how much does {} cost?", "what is the price of {}?")
    else:
        asks = _AGES if adjective in _AGE else (f"how {adjective} is {{}}?",)
    return Comparison(sides, asks, adjective in _AGE, not less, later, chooses)
