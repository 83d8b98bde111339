"""Plain words of an answer: cut to length, canonical spelling, tokens, refusals, negation."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

MAX_ANSWER_TOKENS = 75
"""CRAG-MM judges the first 75 tokens of an answer."""

_PIECE = re.compile(r"\d{1,3}|[^\W\d_]{1,7}|[^\w\s]|_")
_SPELLINGS = str.maketrans(
    {
        **dict.fromkeys("‘’ʼ´`′", "'"),
        **dict.fromkeys("“”„«»″", '"'),
        **dict.fromkeys("‐‑‒–—−", "-"),
        "×": "x",
        "&": " and ",
        "ø": "o",
        "đ": "d",
        "ł": "l",
        "ı": "i",
        "æ": "ae",
        "œ": "oe",
    }
)
_REFUSALS = ("i dont know", "i do not know")
_NEGATIONS = frozenset(
    (
        "not", "never", "neither", "nor", "cannot", "without",
        "isn", "wasn", "aren", "weren", "didn", "doesn", "don",
    )
)  # fmt: skip
_TURNS = frozenset(("but", "rather", "instead", "however"))
_CONTRASTS = frozenset(
    (
        "while", "whereas", "although", "though", "but", "against", "than", "compared", "versus", "vs",
        "unlike", "formerly", "previously",
    )
)  # fmt: skip
_NEGATION_REACH = 4
_TOKEN = re.compile(r"[^\W_]+|[.,;:!?()\n]")
_TIME = re.compile(r"\b(\d{1,2}):(\d{2})\s*(?:([ap])\.?m\b\.?)?|\b(\d{1,2})(?:\.(\d{2}))?\s*([ap])\.?m\b\.?")
_TIME_RANGE = re.compile(r"(t\d{4})\s*(?:-|to|until|till|and)\s*(?=t\d{4})")
_BARE_START = re.compile(r"\b(\d{1,2})\s*(?:-|to|until|till)\s*(?=t\d{4})")


@dataclass(frozen=True, slots=True)
class Token:
    """A word in canonical spelling; `clause` counts the breaks before it."""

    word: str
    clause: int


def truncate(answer: str, limit: int = MAX_ANSWER_TOKENS) -> str:
    """The answer's first `limit` tokens.

    Approximates a subword tokenizer without one: a token is up to seven letters, up to three digits or
    one mark, which for English prose gives about 1.3 tokens a word, as Llama's vocabulary does.
    """
    for number, piece in enumerate(_PIECE.finditer(answer), 1):
        if number == limit:
            return answer[: piece.end()]
    return answer


def canonical(text: str) -> str:
    """Compatibility forms, quotes, dashes and accents folded; lower case."""
    folded = unicodedata.normalize("NFKC", text.translate(_SPELLINGS)).casefold().translate(_SPELLINGS)
    return "".join(c for c in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(c))


def is_refusal(answer: str) -> bool:
    """Whether the answer says "I don't know", whatever its punctuation (CRAG-MM's rule for `missing`)."""
    plain = re.sub(r"[^a-z0-9\s]", " ", canonical(answer).replace("'", ""))
    spaced = " ".join(plain.split())
    return not spaced or any(refusal in spaced for refusal in _REFUSALS)


def tokens(text: str) -> tuple[Token, ...]:
    """Words with their clauses; times of day become one word each, such as `t0930`."""
    found: list[Token] = []
    clause = 0
    for match in _TOKEN.finditer(_spell_times(canonical(text))):
        word = match.group()
        if not word[0].isalnum():
            clause += 1
            continue
        clause += word in _TURNS
        found.append(Token(word, clause))
    return tuple(found)


def negated(words: Sequence[Token], start: int) -> bool:
    """Whether the word at `start` stands under a negation of its own clause."""
    clause = words[start].clause
    before = words[max(0, start - _NEGATION_REACH) : start]
    return any(token.word in _NEGATIONS for token in before if token.clause == clause)


def claim(words: tuple[Token, ...]) -> tuple[Token, ...]:
    """What is asserted before the answer turns to something else ("A, while B …", "A rather than B").

    An answer that opens with the contrast ("Unlike B, A …") is taken from its next clause.
    """
    start = 0
    if words and words[0].word in _CONTRASTS:
        start = next((i for i, token in enumerate(words) if token.clause > words[0].clause), len(words))
    cut = (i for i, token in enumerate(words) if i >= start and token.word in _CONTRASTS)
    return words[start : next(cut, len(words))]


def _spell_times(text: str) -> str:
    text = text.replace("noon", "12:00").replace("midnight", "00:00")
    text = _TIME_RANGE.sub(r"\1 ", _TIME.sub(_spell_time, text))
    return _BARE_START.sub(lambda start: f"t{int(start[1]):02d}00 ", text)


def _spell_time(match: re.Match[str]) -> str:
    hour, minute = int(match[1] or match[4]), int(match[2] or match[5] or 0)
    half = match[3] or match[6]
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return f" t{hour:02d}{minute:02d} " if hour < 25 and minute < 60 else match.group()
