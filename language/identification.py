"""Which language a question is in, and how to say in it that it cannot be read."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from language.scripts import dominant_script
from language.words import STOP_WORDS, Word, fold, memoize, tokens, word_set, words

_OPENERS = word_set(
    "who whose which where when why how what is are does did do can could has have will would tell"
    " translate read name show give explain describe compare find"
)
_PARTICLES = word_set(
    "al bin da das de dei del della den der des di do dos du e el i la las le los van von y"
)
"""Words in the middle of names: "Plaza de los Reyes", "Ludwig van Beethoven"."""
_FEW = 3
"""Words from which a text without a question mark is taken for a sentence."""


@dataclass(frozen=True, slots=True)
class ForeignLanguage:
    """A language other than English. `name`: in English.

    `refusal`, `advice`: in the language itself, that only English is understood, and to ask in English.

    `asking`, `words`: folded words that begin its questions, and these with others that hold its sentences
    together. `scripts`: as Unicode's names begin, where a script tells it; `letters`: of that script, one of
    which must be there.
    """

    code: str
    name: str
    refusal: str
    advice: str
    asking: frozenset[str]
    words: frozenset[str]
    scripts: frozenset[str]
    letters: frozenset[str]


@lru_cache(maxsize=1)
def foreign_languages() -> tuple[ForeignLanguage, ...]:
    """Those of `foreign_languages.toml`, in its order."""
    listed = tomllib.loads((files(__package__ or "language") / "foreign_languages.toml").read_text("utf-8"))
    return tuple(_language(code, entry) for code, entry in listed.items())


def _language(code: str, entry: Mapping[str, str]) -> ForeignLanguage:
    asking = frozenset(map(fold, entry.get("asking", "").split())) - STOP_WORDS
    others = frozenset(map(fold, entry.get("words", "").split()))
    scripts, letters = frozenset(entry.get("script", "").split()), frozenset(entry.get("letters", ""))
    return ForeignLanguage(
        code, entry["name"], entry["refusal"], entry["advice"], asking, asking | others, scripts, letters
    )


@memoize(256)
def is_english(text: str) -> bool:
    """Whether a question is in English; where little tells, as in names and short questions, it is."""
    every = words(text)
    english = sum(word in STOP_WORDS for word in every)
    if dominant_script(text) not in {"", "LATIN"}:
        return english > 0
    if "¿" in text or "¡" in text:
        return False
    if not every or every[0] in _OPENERS:
        return True
    plain = _outside_names(text)
    foreign = max(sum(word in each.words for word in plain) for each in foreign_languages())
    opens = plain[:1] == [every[0]] and any(every[0] in each.asking for each in foreign_languages())
    if opens and ("?" in text or len(every) >= _FEW) and not english:
        return False
    return foreign < 2 or foreign <= english


def foreign_language_of(text: str) -> ForeignLanguage | None:
    """The language of a question that is not English; None for English and for what is not known."""
    if is_english(text):
        return None
    script = dominant_script(text)
    if script != "LATIN":
        of_script = (each for each in foreign_languages() if script in each.scripts)
        return next((each for each in of_script if not each.letters or each.letters & set(text)), None)
    every = words(text)
    best = max(
        foreign_languages(),
        key=lambda each: (sum(word in each.words for word in every), every[0] in each.asking),
    )
    return best if not best.words.isdisjoint(every) else None


def _outside_names(text: str) -> list[str]:
    """The folded words without names, whose own "de", "la" and "van" say nothing of the question."""
    every, shouted = tokens(text), text.isupper()
    named = [not shouted and _in_name(every, place) for place in range(len(every))]
    for place in range(1, len(every)):
        runs_on = every[place].folded in _PARTICLES and any(named[place + 1 : place + 3])
        named[place] = named[place] or (named[place - 1] and runs_on)
    return [word.folded for word, is_named in zip(every, named, strict=True) if not is_named]


def _in_name(every: Sequence[Word], place: int) -> bool:
    """A capital says so, but not the question's first unless another follows."""
    follows = every[place + 1].text if place + 1 < len(every) else ""
    return every[place].text[:1].isupper() and (place > 0 or follows[:1].isupper())
