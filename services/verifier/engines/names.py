"""Names: what they consist of and whether a passage has them."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from services.verifier.engines.text import Word, sentences_of, word_set, words_of

_CALENDAR = word_set(
    """monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
    saturdays sundays january february march april may june july august september october november december"""
)
_UNITS = word_set("eur usd gbp chf celsius fahrenheit kg km cm mm ml kcal gb tb mb w v n hz mp")
_SINGULAR_VERBS = word_set(
    """is was has costs weighs contains comes lies died wrote painted lasts opens closes sells makes lives
    lived employs sells keeps offers stands hangs uses shows features belongs measures plays runs charges
    gives takes covers holds carries serves studied worked taught married founded designed built composed
    directed opened closed starts goes depicts won studies works"""
)
_APART = re.compile(r"[,;:|()\n]")  # "Elsa, Clouds" are two names
_NO_START = word_set(
    """behind during after before near outside inside around among without within since until while though
    although because when whenever where once every all nobody everyone everybody people guests visitors
    despite about above below beyond beside between through throughout according besides unlike like no not"""
)
_ALIKE = 0.88
_FUZZY_LENGTH = 6
_TRAILING_PLACE = re.compile(r"(?<=\w),\s*[^\W\d_]+(?:[\s-][^\W\d_]+)?\s*$")


def folded(text: str) -> str:
    """Lower case without accents or possessive, so that "Café's" meets "cafe"."""
    plain = text.casefold().removesuffix("'s").removesuffix("’s")
    if plain.isascii():
        return plain
    return "".join(c for c in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(c))


def name_runs(text: str, numeric: Sequence[tuple[int, int]] = ()) -> list[tuple[Word, ...]]:
    """Names as runs of capitalised words and model numbers, outside the `numeric` ranges.

    A sentence's first word counts only if what follows shows it to be a name.
    """
    runs: list[tuple[Word, ...]] = []
    for start, end in sentences_of(text):
        run: tuple[Word, ...] = ()
        words = words_of(text[start:end])
        for position, word in enumerate(words):
            placed = Word(word.text, word.stem, start + word.start, start + word.end)
            outside = not any(first <= placed.start < last for first, last in numeric)
            if outside and _is_name_like(word) and (position > 0 or _starts_a_name(words)):
                if run and _APART.search(text[run[-1].end : placed.start]):
                    runs.append(run)
                    run = ()
                run = (*run, placed)
            else:
                runs.append(run)
                run = ()
        runs.append(run)
    return [run for run in runs if run]


def _starts_a_name(words: Sequence[Word]) -> bool:
    """ "Lindow Tower ..." and "Lorne is ...", but not "Tickets cost ..." or "Together they ..."."""
    first = words[0].text
    if first.casefold() in _NO_START:
        return False
    if _is_mixed(first):
        return True
    if len(words) < 2 or first.casefold().endswith(("s", "ing", "ly")):
        return len(words) > 1 and _is_name_like(words[1])
    return _is_name_like(words[1]) or words[1].text in _SINGULAR_VERBS


def _is_name_like(word: Word) -> bool:
    lower = word.text.casefold()
    if not word.is_content or lower in _CALENDAR or lower in _UNITS:
        return False
    return word.text[0].isupper() or _is_mixed(word.text)


def _is_mixed(text: str) -> bool:
    return text[0].isalpha() and any(map(str.isdigit, text))


def missing_words(wanted: Iterable[str], passage: Iterable[str]) -> list[str]:
    """Words of `wanted` that `passage` (folded words) lacks; long words may have a slip, not numbers."""
    have = set(passage)
    return [word for word in wanted if not _present(folded(word), have)]


def _present(word: str, have: set[str]) -> bool:
    if word in have:
        return True
    if len(word) < _FUZZY_LENGTH or not word.isalpha():
        return False
    return any(
        abs(len(other) - len(word)) <= 1 and other[0] == word[0] and _alike(word, other)
        for other in have
        if len(other) >= _FUZZY_LENGTH
    )


@lru_cache(maxsize=65536)
def _alike(one: str, other: str) -> bool:
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= _ALIKE


def entity_words(entity: str) -> list[str]:
    """The telling words of an entity's name, without a place that only follows it ("Lamp & Co, Penley")."""
    words = words_of(_TRAILING_PLACE.sub("", entity))
    return [word.text for word in words if word.is_content] or [word.text for word in words]


def trailing_place(entity: str) -> str:
    """What `entity_words` leaves out."""
    match = _TRAILING_PLACE.search(entity)
    return match.group() if match else ""


def stands_elsewhere(entity: str, text: str) -> bool:
    """Whether the text puts the entity's namesake into another place ("Lamp & Co, Lorne")."""
    place = trailing_place(entity)
    if not place:
        return False
    short = entity[: -len(place)]
    match = re.search(re.escape(short) + r",\s*([^\W\d_a-z][^\W\d_]+)", text)
    return match is not None and folded(match[1]) not in map(folded, place.strip(" ,").split())
