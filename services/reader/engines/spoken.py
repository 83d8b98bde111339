"""An answer as it may be said: a whole sentence or clause of at most 25 words, fit for an ear."""

import re

from chassis.models.windows import SentenceAnswer

MOST_SPOKEN = 25
"""Words."""

_ASIDE = re.compile(
    r"\s*(?:\[(?:\w{1,3}|note \d+|[\w ]{0,20} needed)\]|(?<!\w)\([^()]{0,200}\)|/[^/\s]{1,40}/)"
)
"""Footnote marks, brackets and phonetics; not the brackets of "T(n)"."""
_IN_BRACKETS = re.compile(r"\s*\(([^()]{1,200})\)")
_SPACE = re.compile(r"\s+")
_BEFORE_POINT = re.compile(r"\s+([,.;:!?])")
_REPEATED_POINT = re.compile(r",\s*([,.;:!?])")
_PRONOUN = re.compile(
    r"(?:He|She|It(?! (?:is|was|has been) (?:\w+ )?"
    r"(?:that|known|said|thought|believed|possible|only|not|in|on|at)\b))(?= )",
    re.IGNORECASE,
)
"""A subject that stands for the thing; not the "it" of "it is said"."""


def speak(answer: SentenceAnswer, subject: str | None) -> str | None:
    """Return the sentence as it is said, or None if it is too long.

    Asides are left out, but not one that answers. A leading "It" becomes the `subject`, if its name is known.
    """
    wanted, sentence = _plain(answer.text), answer.sentence
    readings = (sentence, _IN_BRACKETS.sub(r", \1, ", sentence), answer.text)
    whole = next((plain for plain in map(_plain, readings) if wanted in plain), wanted)
    pronoun = _PRONOUN.match(whole) if subject else None
    named = f"{subject}{whole[pronoun.end() :]}" if pronoun else whole
    return next((as_sentence(each) for each in (named, whole) if is_short(each)), None)


def speak_span(span: str, about: str) -> str:
    """Return the words that answer, with what they are about."""
    plain = _plain(span) or span
    return as_sentence(f"{about}: {plain}" if about and is_short(f"{about} {plain}") else plain)


def speak_attribute(sentence: str, span: str, name: str) -> str:
    """Return what to say of an attribute, "The begun of Doge's Palace is 1340.": its key and value.

    The whole value, or `span` of a long one.
    """
    key, _, value = sentence.removeprefix("The ").partition(f" of {name} is ")
    if not value:
        return as_sentence(sentence)
    whole = as_sentence(f"{key}: {value.removesuffix('.')}")
    return whole if is_short(f"{key}: {value}") else as_sentence(f"{key}: {_plain(span)}")


def as_sentence(text: str) -> str:
    """Return a piece of text as one utterance: no brackets, a capital and a full stop."""
    plain = _plain(text)
    words = plain.split(" ")
    if len(words) > MOST_SPOKEN:
        plain = " ".join(words[:MOST_SPOKEN]).rstrip(",;:")
    if not plain:
        return _SPACE.sub(" ", text).strip()
    if words[0].islower():
        plain = plain[0].upper() + plain[1:]
    return plain if plain[-1] in ".!?" else f"{plain}."


def is_short(text: str) -> bool:
    """Return whether a text may be said at once."""
    return len(text.split(maxsplit=MOST_SPOKEN)) <= MOST_SPOKEN


def _plain(text: str) -> str:
    spaced = _ASIDE.sub("", _SPACE.sub(" ", text))
    return _REPEATED_POINT.sub(r"\1", _BEFORE_POINT.sub(r"\1", spaced)).strip(" ,;:–—-[]()\"“”'")
