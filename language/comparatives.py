"""Comparisons of two things by a measure: "is this longer than Tower Bridge?", "which is older, A or B?"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from language.quantities import quantities
from language.questions import read_question
from language.reference import LONGEST, PARTICIPLE
from language.words import AUXILIARIES, COPULAS, STOP_WORDS, Word, remembered, word_set

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
_MORE = word_set("more less fewer")
_SPEND = word_set("pay spend cost costs charge")
_CHOICE = re.compile(
    r"(?P<head>.*?)(?:[,:;]\s*|\s+(?=(?:at|in|from|on|with)\b))(?P<one>[^,:;]+?),?\s+or\s+(?P<two>.+)",
    re.IGNORECASE | re.DOTALL,
)
_AT = re.compile(r"(at|in|from|on|with) (.+)", re.IGNORECASE | re.DOTALL)
_COUNTED = re.compile(r"[\d.,]+ ([a-z]+)")
_LONGEST_SIDE = 80
"""Characters; what is longer is no thing's name."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two things, and questions (`{}` for a thing) whose answers are to be compared; the first that has one.

    `by_age`: the answers may be dates. `larger`: whether the thing with the larger value is meant; `later`:
    with dates, the one of a later date.
    `chooses`: one of the two is to be named; else it is asked whether the first is the one. `placed`: the two
    are where one other thing has that measure ("is this cheaper at A or at B?").
    """

    sides: tuple[str, str]
    asks: tuple[str, ...]
    by_age: bool
    larger: bool
    later: bool
    chooses: bool
    placed: bool = False


@remembered(256)
def comparison(text: str) -> Comparison | None:
    """What two things are compared by; None for a question that does not compare two."""
    words = read_question(text).words
    if not words or words[0].folded == "how" or len(text) > LONGEST:
        return None
    for place in range(1, len(words)):
        word, after = words[place], words[place + 1] if place + 1 < len(words) else None
        placed = _placed(text, words, place)
        if placed is not None:
            return placed
        more = word.folded if word.folded in _MORE and after is not None and after.folded != "than" else ""
        if more and place > 1 and words[place - 1].folded in _SPEND:
            adjective, end = "expensive", word.end
        elif more and after is not None:
            adjective, end = after.folded, after.end
        elif (root := _positive(text, word)) and (doing := _doing(text, words, place, root)):
            return doing
        elif root and _is_predicate(text, words, place):
            adjective, end = root, word.end
        else:
            continue
        sides, chooses = _sides(text[: word.start], text[end:])
        if sides is not None:
            before = {each.folded for each in words[:place]}
            if more and {"is", "are"} & before and "there" in before:
                return _contained(sides, adjective, more)
            counts = bool(more) and adjective != "expensive" and not before & COPULAS
            return _compared(sides, chooses, adjective, more, counts)
    return None


def _placed(text: str, words: Sequence[Word], place: int) -> Comparison | None:
    """ "is this cheaper at A or at B?", "where do I pay less for this, A or B?": one thing in two places."""
    word, after = words[place], words[place + 1] if place + 1 < len(words) else None
    spends = word.folded in ("more", "less") and words[place - 1].folded in _SPEND
    if word.folded in ("more", "less") and not spends and after is not None:
        root, end = after.folded, after.end
    else:
        root, end = "expensive" if spends else _positive(text, word) or "", word.end
    opens = words[0].folded in AUXILIARIES | {"where"} and words[1].folded != "there"
    match = _CHOICE.fullmatch(text[end:].rstrip(" ?.!")) if root and opens else None
    first = next((each.end for each in words[:place] if each.folded in AUXILIARIES), None)
    if match is None or first is None:
        return None
    thing = text[first : words[place - 1].start if spends else word.start].strip(" ,")
    bought = re.fullmatch(r"\s*for (.+)", match["head"], re.IGNORECASE | re.DOTALL)
    one, two = (_AT.fullmatch(match[side]) for side in ("one", "two"))
    if bought is not None and spends:
        thing = bought[1]
    elif match["head"].strip() or (one is None and words[0].folded != "where"):
        return None
    sides = _named(one[2] if one else match["one"], two[2] if two else match["two"])
    if sides is None or not thing:
        return None
    less = (root in _LESS) is (word.folded != "less")
    at = one[1] if one else "at"
    costs = f"how much does {thing} cost {at} {{}}?"
    asks = (costs if root in _COST else f"how {root} is {thing} {at} {{}}?",)
    return Comparison(sides, asks, False, not less, True, True, placed=True)


def _doing(text: str, words: Sequence[Word], place: int, root: str) -> Comparison | None:
    """ "does A or B run longer on a charge?", "was A or B built later?": by when or how they do it."""
    first, verb = words[0], words[place - 1]
    if first.folded not in COPULAS | {"do", "does", "did"} or (
        first.folded in COPULAS and not PARTICIPLE.fullmatch(verb.folded)
    ):
        return None
    match = _BEFORE.fullmatch(text[first.end : verb.start].strip())
    sides = _named(match["one"], match["two"]) if match else None
    if sides is None or (place + 1 < len(words) and words[place + 1].folded not in STOP_WORDS):
        return None
    asks = "when" if root in _AGE else f"how {root}"
    rest = text[words[place].end :].rstrip(" ?.!")
    return Comparison(
        sides,
        (f"{asks} {first.folded} {{}} {verb.text}{rest}?",),
        root in _AGE,
        root not in _LESS | _LATER,
        root in _LATER,
        True,
    )


def _is_predicate(text: str, words: Sequence[Word], place: int) -> bool:
    """Whether the word stands where a comparative does: before "than", or with no noun behind it."""
    if place + 1 == len(words) or words[place + 1].folded == "than":
        return True
    before, gap = words[place - 1].folded, text[words[place].end : words[place + 1].start]
    return before in COPULAS | {"the"} and (bool(gap.strip()) or words[place + 1].folded in STOP_WORDS)


def _positive(text: str, shown: Word) -> str | None:
    """ "long" of "longer"; None where the word is no comparative, or part of a name ("Butcher's Arms")."""
    word = shown.folded
    if (shown.start and shown.text[0].isupper()) or text.startswith(("'", "’"), shown.end):
        return None
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


def _contained(sides: tuple[str, str], noun: str, more: str) -> Comparison:
    """ "Is there more sugar in this or in that?": the sides come with their prepositions."""
    matches = [_AT.fullmatch(side) for side in sides]
    one, two = (match[2] if match else side for match, side in zip(matches, sides, strict=True))
    return Comparison((one, two), (_contents(noun),), False, more == "more", True, True)


def _contents(noun: str) -> str:
    return f"how many {noun} are in {{}}?" if noun.endswith("s") else f"how much {noun} is in {{}}?"


def _compared(sides: tuple[str, str], chooses: bool, adjective: str, more: str, counts: bool) -> Comparison:
    """`more`: the word before the adjective, if there is one; `counts`: before a noun ("more pages")."""
    if counts:
        many = adjective.endswith("s")
        asks: tuple[str, ...] = (f"how many {adjective} does {{}} have?" if many else _contents(adjective),)
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
