"""An answer as it may be said: the words that answer with what they belong to, fit for an ear."""

import re

from services.reader.engine import Passage
from services.reader.engines.prose import MOST_SPOKEN, clause_around
from services.reader.engines.texts import Sentence

_ASIDE = re.compile(r"\s*(?:\[[^\[\]]{0,80}\]|\([^()]{0,200}\)|/[^/\s]{1,40}/)")
"""Footnote marks, brackets and phonetics."""
_OPENING = re.compile(
    r"^(?:and|but|or|which|who|that|because|since|so|while|whereas|although|though|as well as)\b\s*",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")
_BEFORE_POINT = re.compile(r"\s+([,.;:!?])")


def spoken(question: str, sentence: str, span: str, subject: str | None, title: str) -> str:
    """The clause of `sentence` around `span`, at most 25 words; `span` alone where it is not in the sentence.

    `question`, `subject` and `title` are what a reader knows besides; a clause stands for itself.
    """
    start = sentence.find(span)
    whole = Sentence(0, Passage(sentence, title), sentence, 0)
    inside = [
        place
        for place, word in enumerate(whole.words)
        if start <= word.start < start + len(span) and start >= 0
    ]
    if not inside:
        return said(span)
    return said(whole.between(*clause_around(whole, inside[0], inside[-1] + 1)))


def said(text: str) -> str:
    """A piece of text as one utterance: no brackets or hanging conjunction, a capital and a full stop."""
    plain = _ASIDE.sub("", text)
    plain = _BEFORE_POINT.sub(r"\1", _SPACE.sub(" ", plain)).strip(" ,;:–—-[]()\"“”'")
    plain = _OPENING.sub("", plain) or plain
    words = plain.split(" ")
    if len(words) > MOST_SPOKEN:
        plain = " ".join(words[:MOST_SPOKEN])
    if not plain:
        return _SPACE.sub(" ", text).strip()
    if words[0].islower():
        plain = plain[0].upper() + plain[1:]
    return plain if plain[-1] in ".!?" else f"{plain}."
