"""Names: what they consist of and whether a passage has them."""

import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from services.verifier.engines.text import Word, sentences_of, word_set, words_of

_CALENDAR = word_set(
    """monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
    saturdays sundays january february march april may june july august september october november december"""
)
_UNITS = word_set("eur usd gbp chf celsius fahrenheit kg km cm mm ml kcal gb tb mb w v n hz mp")
_SINGULAR_VERBS = word_set(
    """is was has costs weighs contains comes lies died wrote painted lasts opens closes sells makes lives
    lived"""
)
_ALIKE = 0.88
_FUZZY_LENGTH = 6


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
                run = (*run, placed)
            else:
                runs.append(run)
                run = ()
        runs.append(run)
    return [run for run in runs if run]


def _starts_a_name(words: Sequence[Word]) -> bool:
    """ "Lindow Tower ..." and "Lorne is ...", but not "Tickets cost ..." or "Together they ..."."""
    first = words[0].text
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
        abs(len(other) - len(word)) <= 1
        and other[0] == word[0]
        and SequenceMatcher(None, word, other, autojunk=False).ratio() >= _ALIKE
        for other in have
        if len(other) >= _FUZZY_LENGTH
    )


def entity_words(entity: str) -> list[str]:
    """The telling words of an entity's name."""
    words = words_of(entity)
    return [word.text for word in words if word.is_content] or [word.text for word in words]
