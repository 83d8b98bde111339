"""Names of people, places and things: where they stand in a text, and whether two are the same."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from language.sentences import sentences
from language.words import STOP_WORDS, Word, memoize, squeeze, tokens, word_set, words

LONG_WORD = 9
"""Letters from which two neighbouring letters may be slips of OCR; from four letters one may."""
MOST_WORDS = 24
"""Words of a name that are compared: a longer one is no name, and comparing takes words times words."""
CLEAR_LETTERS = 8
"""Letters of print from which it can be said whether a name stands in it."""

_PARTICLES = word_set("""
    of de la le les du des der den van von und zu di da del della dos das el al bin ibn the y
""")
_CALENDAR = word_set("""
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec
""")
_SUFFIXES = re.compile(r".{3,}(?:ly|ing|ed|tion|sion|ment|ness|ity|ers|ons|ings|able|ful|less|ous|ical)\Z")
"""Endings of ordinary words; case tells nothing at the start of a sentence, so a name with one is missed."""
_GAP = re.compile(r"(?:['’]s?)?(?: ?[-–&] ?| )|['’]|\. ?")
_LONGEST_TITLE = 4
"""Letters of a title or initial after which a full stop does not end a name ("St.", "Prof.")."""


@dataclass(frozen=True, slots=True)
class Name:
    """`text` equals `source[start:end]`, in code points."""

    text: str
    start: int
    end: int


@memoize(512)
def names(text: str) -> tuple[Name, ...]:
    """Return runs of capitalised words with particles and numbers: "Museum of Modern Art", "Boeing 747"."""
    every = tokens(text)
    starts = {sentence.start for sentence in sentences(text)}
    lower = {word.folded for word in every if word.text.islower()}
    entries = []
    place = 0
    while place < len(every):
        if not _is_capital(every[place]):
            place += 1
            continue
        after = _end_of_run(text, every, place)
        run: Sequence[Word] = every[place:after]
        if _opens(text, run[0], starts):
            run = _without_opening(run, lower)
        if run and not all(
            w.folded.removesuffix("s") in _CALENDAR or w.folded in STOP_WORDS or w.text[0].isdigit()
            for w in run
        ):
            entries.append(Name(text[run[0].start : run[-1].end], run[0].start, run[-1].end))
        place = after
    return tuple(entries)


def _is_capital(word: Word) -> bool:
    return word.text[0].isupper() or (
        len(word.text) > 1 and word.text[0].islower() and word.text[1].isupper()
    )


def _end_of_run(text: str, every: Sequence[Word], first: int) -> int:
    """Return the index after the last word of the name that begins at `first`."""
    end = place = first + 1
    while place < len(every) and _touches(text, every[place - 1], every[place]):
        word = every[place]
        if _is_capital(word) or (word.text[0].isdigit() and _is_capital(every[place - 1])):
            end = place + 1
        elif word.text not in _PARTICLES or place - end >= 2:
            break
        place += 1
    return end


def _touches(text: str, before: Word, after: Word) -> bool:
    gap = text[before.end : after.start]
    if "." in gap and (len(before.text) > _LONGEST_TITLE or before.text[0].isdigit()):
        return False
    return gap == "" or _GAP.fullmatch(gap) is not None


def _opens(text: str, word: Word, starts: set[int]) -> bool:
    """Return whether the word begins a sentence, perhaps after a quotation mark or bullet."""
    start = word.start
    while start > 0 and start not in starts and not text[start - 1].isalnum() and text[start - 1] != " ":
        start -= 1
    return start in starts


def _without_opening(run: Sequence[Word], lower: set[str]) -> Sequence[Word]:
    """A sentence's first word is capitalised anyway: it counts if nothing says that it is ordinary."""
    while run and run[0].folded in STOP_WORDS:
        run = run[1:]
    return () if len(run) == 1 and (run[0].folded in lower or _SUFFIXES.match(run[0].folded)) else run


def alike(a: str, b: str) -> bool:
    """Return whether two folded words are equal up to an OCR error: one letter, in a long word two."""
    if a == b:
        return True
    shorter = min(len(a), len(b))
    if shorter < 4 or abs(len(a) - len(b)) > 2 or not a.isalpha() or not b.isalpha():
        return False
    left = 0
    while left < shorter and a[left] == b[left]:
        left += 1
    right = 0
    while right < shorter - left and a[-1 - right] == b[-1 - right]:
        right += 1
    slips = max(len(a), len(b)) - left - right
    # In a short word another letter makes another word ("gold", "cold"); a lost or added one seldom does.
    return slips <= (2 if shorter >= LONG_WORD else 1) and (shorter >= 6 or len(a) != len(b))


@memoize(4096)
def name_words(name: str) -> tuple[str, ...]:
    """Return the words that distinguish a name; a name of only small words keeps them all."""
    every = words(name)
    return (tuple(word for word in every if word not in STOP_WORDS) or every)[:MOST_WORDS]


@memoize(8192)
def coverage(name: str, text: str) -> float:
    """Return the share (0..1) of the name's letters in the text, tolerating OCR errors and lost spaces."""
    wanted = name_words(name)
    total = sum(len(word) for word in wanted)
    present, joined = frozenset(words(text)), squeeze(text)
    match_length = sum(len(word) for word in wanted if _present(word, present, joined))
    return match_length / total if total else 0.0


def _present(word: str, present: frozenset[str], joined: str) -> bool:
    if word in present or (len(word) >= 5 and not word.isdigit() and word in joined):
        return True
    return any(alike(word, other) for other in present)


@memoize(8192)
def mentions(text: str, name: str) -> bool:
    """Return whether the text has every distinguishing word of the name, close together."""
    wanted = name_words(name)
    key = squeeze(name)
    if not wanted:
        return False
    if len(key) >= 4 and key in squeeze(text):
        return True
    return coverage(name, text) == 1.0 and _span_of(wanted, words(text)) <= 2 * len(wanted) + 2


def _span_of(wanted: Sequence[str], present: Sequence[str]) -> int:
    """Return the words of the shortest span with all wanted words; more than the text's if there is none."""
    last: dict[str, int] = {}
    known: dict[str, list[str]] = {}
    best = len(present) + 1
    for place, word in enumerate(present):
        if word not in known:
            known[word] = [each for each in wanted if alike(word, each)]
        for each in known[word]:
            last[each] = place
        if known[word] and len(last) == len(set(wanted)):
            best = min(best, place - min(last.values()) + 1)
    return best


def same_name(a: str, b: str) -> bool:
    """Return whether two names are equal up to small words, accents and OCR errors."""
    left, right = name_words(a), name_words(b)
    if not left or not right:
        return False
    if squeeze(a) == squeeze(b):
        return True
    return len(left) == len(right) and all(any(alike(w, v) for v in right) for w in left)


def agreement(name: str, printed: str) -> float | None:
    """Return the share (0..1) of the name's letters in a photo's print; None if it has too little print.

    A number of the name that is not printed makes it another thing ("Fiat 500", "Fiat 600"): at most a half.
    """
    joined = squeeze(printed)
    if len(joined) < CLEAR_LETTERS:
        return None
    # What follows a comma says more about the thing, and is seldom printed on it.
    wanted = name_words(name.partition(",")[0]) or name_words(name)
    total = sum(len(word) for word in wanted)
    present = frozenset(words(printed))
    matches = [
        word for word in wanted if (len(word) >= 3 and word in joined) or _present(word, present, joined)
    ]
    share = sum(len(word) for word in matches) / total if total else 0.0
    missing_number = any(word[0].isdigit() and word not in matches for word in wanted)
    return min(0.5, share) if missing_number else share
