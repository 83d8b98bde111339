"""Numbers written as words: "two hundred and fifty", "a dozen", "three million"."""

import re
from collections.abc import Iterator

_ONE_NAMES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
"""
_ONES = {name: value for value, name in enumerate(_ONE_NAMES.split())}
_TEN_NAMES = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = {name: 10 * value for value, name in enumerate(_TEN_NAMES.split(), start=2)}
_SCALES = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_DOZEN = 12
_WORDS = "|".join([*_ONES, *_TENS, *_SCALES, "hundred", "dozen"])
_RUN = re.compile(rf"\b(?:half\s+)?(?:a\s+)?(?:{_WORDS})(?:(?:\s+and)?[\s-]+(?:{_WORDS}))*\b", re.IGNORECASE)


def word_numbers(text: str) -> Iterator[tuple[int, int, float]]:
    """(start, end, value) of each; a lone "one" is a pronoun and a lone "a" an article, so neither counts."""
    for match in _RUN.finditer(text):
        words = re.split(r"[\s-]+", match.group().casefold())
        if words == ["one"]:
            continue
        yield match.start(), match.end(), _value(words)


def _value(words: list[str]) -> float:
    total = current = 0
    for word in words:
        if word in _ONES:
            current += _ONES[word]
        elif word in _TENS:
            current += _TENS[word]
        elif word in {"hundred", "dozen"}:
            current = max(current, 1) * (100 if word == "hundred" else _DOZEN)
        elif word in _SCALES:
            total += max(current, 1) * _SCALES[word]
            current = 0
    return (total + current) / 2 if words[0] == "half" else float(total + current)
