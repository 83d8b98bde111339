"""Split a text into sentences without changing a character, and know a row of a table."""

import re
from dataclasses import dataclass

from language.words import memoize, word_set

_SHORTENED = word_set("""
    mr mrs ms mme dr prof rev hon gen col capt lt sgt maj cmdr adm gov sen rep pres st ste sr jr mt ft nos
    nr vs approx ca c cf sec vol fig figs ed eds pp p bros ave blvd rd str tel est max min incl excl
    jan feb mar apr jun jul aug sep sept oct nov dec
""")
"""What a full stop after it belongs to, whatever follows; folded."""
_ENDING = word_set("inc ltd co corp etc jr sr plc al a.m p.m u.s u.k u.s.a u.n b.c a.d d.c")
"""Abbreviations that end a sentence only before a function word or pronoun; so do initials."""
_STARTERS = word_set("""
    The A An This That These Those It He She They We You I In On At Its His Her Their After Before When While
    There But And As By For From However Since With To Both Each No
    Thus Therefore Then If Some Many Most Of Such Because
""")
_BREAK = re.compile(
    r"(?:(?<![.!?…])[.!?…]+[\"'”’)\]]*(?:\[\d{1,3}\])*\s+(?=[\"'“‘«(\[]*(?:[^\W_a-zß-ÿ]|[a-z][A-Z]))|[。！？]|\n)"
)
_LAST_WORD = re.compile(r"(?:^|[\s\"'“‘(\[\-–/])((?:\w\.)*\w+)\.[\"'”’)\]]*\s*\Z")
_NEXT_WORD = re.compile(r"[\"'“‘«(\[]*(\w+)")
_WINDOW = 24
"""Characters before a full stop that may hold an abbreviation; a longer word is none."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` is verbatim: it equals `source[start:end]`, in code points."""

    text: str
    start: int
    end: int


@memoize(512)
def sentences(text: str) -> tuple[Sentence, ...]:
    """Return sentences in order; line breaks always end one, abbreviations and initials do not."""
    pieces: list[Sentence] = []
    start = 0
    for mark in _BREAK.finditer(text):
        if not _belongs_to_word(text, mark):
            _append(pieces, text, start, mark.end())
            start = mark.end()
    _append(pieces, text, start, len(text))
    return tuple(pieces)


def _belongs_to_word(text: str, mark: re.Match[str]) -> bool:
    """Return whether the full stop is part of an abbreviation that does not end its sentence."""
    shown = mark.group()
    if not shown.startswith(".") or shown.startswith("..") or "\n" in shown:
        return False
    before = _LAST_WORD.search(text[max(0, mark.start() - _WINDOW) : mark.start() + 1])
    if before is None:
        return False
    word = before.group(1)
    following = _NEXT_WORD.match(text, mark.end())
    if word.casefold() == "no":  # "No. 5", but not "They said no."
        return following is not None and following.group(1)[0].isdigit()
    initial = len(word) == 1 and word.isalpha() and word.isupper()
    if initial or word.casefold() in _ENDING:
        return following is None or following.group(1) not in _STARTERS or _is_initial(text, following)
    dotted = "." in word and word[0].isalpha()
    return dotted or word.casefold() in _SHORTENED


def _is_initial(text: str, word: re.Match[str]) -> bool:
    return len(word.group(1)) == 1 and text[word.end() :].startswith(".")


def _append(pieces: list[Sentence], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip())
    right = left + len(piece.strip())
    if right > left:
        pieces.append(Sentence(text[left:right], left, right))


COLUMN = re.compile(r"(?:^|; )([^:;\n]{1,80}): ")
"""The column before each cell."""


def columns_of(line: str) -> tuple[str, ...]:
    """Return the names of a row's columns; empty if the line has fewer than two."""
    columns = tuple(COLUMN.findall(line))
    return columns if len(columns) > 1 else ()
