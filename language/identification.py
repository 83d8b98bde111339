"""The language of a question, the script of its letters, and print apart from the noise of OCR."""

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise

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
    """Return the languages of `foreign_languages.toml`, in its order."""
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
    """Return whether a question is in English; true for names and very short questions."""
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
    """Return the language of a question that is not English; None for English or an unknown language."""
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
    """Return the folded words without names, whose "de" or "van" do not show the language."""
    every, shouted = tokens(text), text.isupper()
    named = [not shouted and _in_name(every, place) for place in range(len(every))]
    for place in range(1, len(every)):
        runs_on = every[place].folded in _PARTICLES and any(named[place + 1 : place + 3])
        named[place] = named[place] or (named[place - 1] and runs_on)
    return [word.folded for word, is_named in zip(every, named, strict=True) if not is_named]


def _in_name(every: Sequence[Word], place: int) -> bool:
    """Return whether a capital marks a name; the question's first counts only if another follows."""
    follows = every[place + 1].text if place + 1 < len(every) else ""
    return every[place].text[:1].isupper() and (place > 0 or follows[:1].isupper())


NOISE_BELOW = 0.4
"""Plausibility below which a line is noise rather than print: see the lines of both kinds in the tests."""

_RUN = re.compile(r"([^\W\d]|[^\w\s.\-_*=·…])\1{3,}")
_WORD = re.compile(r"[^\W_]+")
_PUNCTUATION = frozenset(".,:;!?'\"-–—&%€$£¥()/#+*°@…•·“”‘’«»„©®™²³")
_VOWELS = frozenset("aeiouyàâäáãåèéêëìíîïòóôöõøùúûüýæœ")
_ALONE = frozenset("aeioyàéèuzwk")
"""Letters that are words in some language of Latin script."""
_SCRIPTS = {"CJK": "HAN", "IDEOGRAPHIC": "HAN", "FULLWIDTH": "LATIN", "KATAKANA-HIRAGANA": "KATAKANA"}
_LONGEST_CONSONANTS, _LONGEST_VOWELS = 8, 4
"""In a row, in the words of European languages ("Angstschweiß", "queueing"); initials may have any."""


@lru_cache(maxsize=4096)
def script_of(character: str) -> str:
    """Return the script of a letter, as Unicode's names begin ("LATIN", "HAN"); empty for others."""
    if not character.isalpha():
        return ""
    first = unicodedata.name(character, "").partition(" ")[0]
    return _SCRIPTS.get(first, first)


def dominant_script(text: str) -> str:
    """Return the script of most letters; empty if there are none."""
    counts: dict[str, int] = {}
    for character in text:
        counts[script_of(character)] = counts.get(script_of(character), 0) + 1
    counts.pop("", None)
    return max(counts, key=lambda script: counts[script], default="")


def plausibility(line_text: str, confidence: float) -> float:
    """Return how likely (0..1) a line that OCR read with that confidence is print, from its letters.

    Counted against it: symbols that print seldom has, letters in long repetition, words without vowels or of
    mixed script, case or digits, and being hardly a character long.
    """
    shown = [c for c in line_text if not c.isspace()]
    count = sum(c.isalnum() for c in shown)
    if not count:
        return 0.0
    strange = sum(not c.isalnum() and c not in _PUNCTUATION for c in shown) / len(shown)
    repeated = sum(len(run.group()) for run in _RUN.finditer(fold(line_text).replace("www", ""))) / len(shown)
    matches = _WORD.findall(unicodedata.normalize("NFC", line_text))
    bad = sum(len(word) for word in matches if not _is_word(word)) / max(1, sum(map(len, matches)))
    likely = (1 - strange) ** 2 * max(0.0, 1 - repeated) * (1 - bad)
    return min(1.0, max(0.0, confidence)) * likely * _length_factor([c for c in shown if c.isalnum()])


def _length_factor(shown: list[str]) -> float:
    """Return a factor for short lines (often scratches) and for lines of few distinct letters ("lIlIlI")."""
    kinds = len({fold(c).replace("l", "i").replace("1", "i") for c in shown})
    if len(shown) == 1:
        return 0.5 if shown[0].isupper() or shown[0].isdigit() else 0.25
    if all(c.isdigit() for c in shown) or (len(shown) <= 3 and "".join(shown).isupper()):
        return 1.0  # "1000", "AAA"
    return 0.25 if kinds == 1 or (kinds == 2 and len(shown) >= 6) else 1.0


def _is_word(word: str) -> bool:
    scripts = {script_of(c) for c in word} - {""}
    if len(scripts) > 1 and not scripts <= {"HAN", "HIRAGANA", "KATAKANA"}:
        return False
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in word]
    turns = sum(a != b and "d" in (a, b) for a, b in pairwise(kinds))
    humps = sum(a == "l" and b == "u" for a, b in pairwise(kinds))
    if turns > 2 or humps > 1 or scripts != {"LATIN"}:
        return turns <= 2 and humps <= 1
    letters = "".join(c for c in word if c.isalpha())
    if len(letters) == 1:
        return len(word) > 1 or letters.isupper() or letters in _ALONE
    shape = "".join("v" if c in _VOWELS else "c" for c in letters.lower())
    if "v" not in shape:
        return len(letters) <= 3 or (letters.isupper() and len(letters) <= 5)
    return "c" * (_LONGEST_CONSONANTS + 1) not in shape and "v" * (_LONGEST_VOWELS + 1) not in shape
