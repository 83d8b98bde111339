"""Comparing an answer with a gold sentence word by word, where no part of the sentence stands out."""

import re

from evaluation.judging.quantities import NUMBER_WORDS
from evaluation.judging.text import canonical, tokens
from evaluation.judging.units import unit_named

_ENOUGH = 0.5
_EXACT = re.compile(r"t\d{4}|minus\d+|\d+(?:point\d+)?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DECIMAL = re.compile(r"(?<![\d.])(\d+)\.(\d+)(?!\d|\.\d|\s*[ap]\.?m\b)")
_MINUS = re.compile(r"(?<![\w)])(?<!\d )-(?=\d)")
_GLUED_UNIT = re.compile(r"(?<=\d)(?=(?:l|ml|kg|g|km|cm|mm|mph|hp|w|v|lbs?|oz|ft)\b)")
_COMMON = frozenset(
    (
        "a", "an", "the", "is", "are", "was", "were", "be", "been", "it", "its", "this", "that", "these",
        "those", "of", "in", "on", "at", "by", "for", "from", "to", "with", "and", "or", "as", "has", "have",
        "had", "do", "does", "did", "can", "could", "will", "would", "should", "may", "might", "there",
        "they", "them", "their", "he", "she", "his", "her", "you", "your", "i", "me", "my", "we", "our",
        "which", "who", "whom", "what", "when", "where", "how", "also", "about", "typically", "usually", "s",
    )
)  # fmt: skip
_TURN = re.compile(r"[;.!?]\s|\b(?:but|while|whereas|although|though|however|unlike)\b", re.I)
_POINTED = re.compile(
    r"\b(?:this|that|these|those) ([\w-]+) (?!(?:to|than|for|from|in|on|of|at|or|and|with)\b)\w"
)
_DENIALS = frozenset({"not", "no", "never", "cannot", "without", "neither", "nor", "none"})


def said_words(text: str) -> list[str]:
    """Its words that carry meaning, in one spelling and number, in order; a number is one word, in digits."""
    plain = _THOUSANDS.sub("", canonical(text).replace("n't", " not"))
    plain = _GLUED_UNIT.sub(" ", _MINUS.sub(" minus", _DECIMAL.sub(_spelled, plain)))
    return [_plain(token.word) for token in tokens(plain) if token.word not in _COMMON]


def objection_by_words(said: str, gold: str, question: str) -> str:
    """Why the answer does not say what the gold does; empty where it says half of it or more.

    Of two things, of times of day and of numbers it must say all."""
    asked = set(said_words(question))
    wanted = [word for word in dict.fromkeys(said_words(gold)) if word not in _DENIALS]
    new = [word for word in wanted if word not in asked] or wanted
    answered = said_words(said)
    if bool(_DENIALS & set(said_words(gold))) != bool(_DENIALS & set(answered)):
        return "one denies and the other does not"
    if not new:
        return "the gold has no words of its own"
    if (len(new) == 2 and " and " in gold) or any(map(_EXACT.fullmatch, new)):
        new = [word for word in new if _EXACT.fullmatch(word)] or new
        if not all(word in answered for word in new):
            return "without " + ", ".join(new)
        units, others = _units(wanted), _units(answered)
        return "in another unit" if units and others and not units & others else ""
    if len(new) == 2 and _of_another_kind(new, answered):
        return "of another kind"
    found = sum(word in answered for word in new)
    return "" if found >= _ENOUGH * len(new) else f"{found} of {len(new)} words"


def stance(said: str, question: str) -> str:
    """`yes` or `no`, for an answer that only repeats what was asked or denies it; empty for any other.

    What the question points at may go by another name: "this plant", "it".
    """
    asked, answered = said_words(question), said_words(_TURN.split(said, maxsplit=1)[0])
    if _DENIALS & set(asked):
        return ""
    absent = set(asked) - set(answered)
    pointed = _POINTED.search(canonical(question))
    if absent and not (pointed and absent == {_plain(pointed[1])} and len(set(asked)) > 2):
        return ""
    if not asked or ("than" in asked and not set(_after_than(asked)) <= set(_after_than(answered))):
        return ""
    return "no" if _DENIALS & set(answered) else "yes"


def _after_than(words: list[str]) -> list[str]:
    return words[words.index("than") + 1 :]


def _of_another_kind(pair: list[str], answered: list[str]) -> bool:
    """Whether another word stands where the first of two should: a Labrador retriever is no golden one."""
    kind, thing = pair
    if kind in answered or thing not in answered:
        return False
    return answered.index(thing) > 0


def _units(words: list[str]) -> set[object]:
    return {unit for word in words if (unit := unit_named(word)) is not None}


def _spelled(decimal: re.Match[str]) -> str:
    places = decimal[2].rstrip("0")
    return f"{decimal[1]}point{places}" if places else decimal[1]


def _plain(word: str) -> str:
    if word in NUMBER_WORDS and word != "one":  # which is a pronoun more often than a number
        return str(NUMBER_WORDS[word])
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
