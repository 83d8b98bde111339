"""Tells print from the noise of OCR, and one script from another."""

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

from language.words import fold

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
    """The script of a letter, as Unicode's names begin ("LATIN", "HAN"); empty for anything else."""
    if not character.isalpha():
        return ""
    first = unicodedata.name(character, "").partition(" ")[0]
    return _SCRIPTS.get(first, first)


def dominant_script(text: str) -> str:
    """The script of most of the letters; empty where there are none."""
    counts: dict[str, int] = {}
    for character in text:
        counts[script_of(character)] = counts.get(script_of(character), 0) + 1
    counts.pop("", None)
    return max(counts, key=lambda script: counts[script], default="")


def plausibility(line_text: str, confidence: float) -> float:
    """How likely (0..1) a line that OCR read with that confidence is print, judged by its letters alone.

    Counted against it: symbols that print seldom has, letters in long repetition, words without vowels or of
    mixed script, case or digits, and being hardly a character long.
    """
    shown = [c for c in line_text if not c.isspace()]
    count = sum(c.isalnum() for c in shown)
    if not count:
        return 0.0
    strange = sum(not c.isalnum() and c not in _PUNCTUATION for c in shown) / len(shown)
    repeated = sum(len(run.group()) for run in _RUN.finditer(fold(line_text).replace("www", ""))) / len(shown)
    found = _WORD.findall(unicodedata.normalize("NFC", line_text))
    bad = sum(len(word) for word in found if not _is_word(word)) / max(1, sum(map(len, found)))
    likely = (1 - strange) ** 2 * max(0.0, 1 - repeated) * (1 - bad)
    return min(1.0, max(0.0, confidence)) * likely * _length_factor([c for c in shown if c.isalnum()])


def _length_factor(shown: list[str]) -> float:
    """One or two characters are as often a scratch as a sign; few in many places always are ("lIlIlI")."""
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
