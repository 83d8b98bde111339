"""Comparing an answer with a gold sentence word by word, where no part of the sentence stands out."""

import re

from evaluation.judging.text import canonical, tokens

_ENOUGH = 0.5
_EXACT = re.compile(r"t\d{4}|\d+")
_COMMON = frozenset(
    (
        "a", "an", "the", "is", "are", "was", "were", "be", "been", "it", "its", "this", "that", "these",
        "those", "of", "in", "on", "at", "by", "for", "from", "to", "with", "and", "or", "as", "has", "have",
        "had", "do", "does", "did", "can", "could", "will", "would", "should", "may", "might", "there",
        "they", "them", "their", "he", "she", "his", "her", "you", "your", "i", "we", "our", "which", "who",
        "whom", "what", "when", "where", "how", "also", "about", "typically", "usually", "s",
    )
)  # fmt: skip
_DENIALS = frozenset({"not", "no", "never", "cannot", "without", "neither", "nor", "none"})


def said_words(text: str) -> list[str]:
    """Its words that carry meaning, in one spelling and number, in order."""
    plain = canonical(text).replace("n't", " not")
    return [_singular(token.word) for token in tokens(plain) if token.word not in _COMMON]


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
        return "" if all(word in answered for word in new) else "without " + ", ".join(new)
    found = sum(word in answered for word in new)
    return "" if found >= _ENOUGH * len(new) else f"{found} of {len(new)} words"


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
