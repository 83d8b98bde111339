"""An answer as it may be said: the clause that holds the words that answer, whole, and fit for an ear."""

import re
from collections.abc import Iterator
from itertools import pairwise

from language.words import word_set

MOST_SPOKEN = 25
"""Words."""

_ASIDE = re.compile(r"\s*(?:\[[^\[\]]{0,80}\]|(?<!\w)\([^()]{0,200}\)|/[^/\s]{1,40}/)")
"""Footnote marks, brackets and phonetics; not the brackets of "T(n)"."""
_IN_BRACKETS = re.compile(r"\s*[(\[]([^()\[\]]{1,200})[)\]]")
_SPACE = re.compile(r"\s+")
_BEFORE_POINT = re.compile(r"\s+([,.;:!?])")
_REPEATED_POINT = re.compile(r",\s*([,.;:!?])")
_CLAUSE_END = re.compile(
    r"\s*[;:–—]\s+|,\s+(?=(?:and|but|or|while|whereas|although|which|who|where|when|because|so)\b)"
)
_PHRASE_END = re.compile(
    r",\s+|\s+(?=(?:which|who|because|while|whereas|although|where|when|since|until|unless|after|before|if"
    r"|though|due to|despite)\b)"
)
"""Where the beginning of a sentence may end, too."""
_RELATIVE = re.compile(r",\s+(?:which|who|whose|where|when)\b[^,;:]{1,150},(?=\s)")
"""A relative clause inside a sentence, which stays whole without it."""
_JOINING = re.compile(r"(?:and|but|so|while|whereas)\s+", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|will|would|may|must|does|do|did|became|began|made|took|led|"
    r"held|won|wrote|built|gave|said|went|came|left|ran|rose|fell|\w{2,}ed)\b"
)
"""What a cut sentence must have to be more than a fragment: the commonest verbs."""
_NAME_BEFORE = re.compile(
    r"(?:(?!(?:In|On|At|By|For|From|The|A|An|And|But|As|After|When|While)\b)[A-Z][\w'’-]*\s+"
    r"(?:(?:of|on|for|the)\s+)*)+$"
)
"""The beginning of a name that goes on: "Treaty on the Functioning of the " before "European Union"."""
_LONGEST_NAME = 200
"""Characters before the words that answer."""
_PHRASE_AFTER = re.compile(
    r"(?:\s+(?!(?:a|an|the|of|in|on|at|by|to|for|from|with|as|than|into|over|under|after|before|during|between|"
    r"and|or|but|that|which|who|whose|where|when|while|if|because|so|it|he|she|they|this|these|not|also)\b)"
    r"[\w'’-]+){1,3}"
)
"""Words that end a phrase: "Lira" after "6 million", "football team" after "Yale"."""
_SUBJECTS = word_set("it he she they we i you there this that these those the a an his her its their our")
_PRONOUN = re.compile(
    r"(?:He|She|It(?! (?:is|was|has been) (?:\w+ )?"
    r"(?:that|known|said|thought|believed|possible|only|not|in|on|at)\b))(?= )"
)
"""A subject that stands for the thing; not the "it" of "it is said"."""


def speak(sentence: str, span: str, subject: str | None, title: str) -> str:
    """Return what to say: the sentence, a clause of it, or the span with what it is about.

    At most `MOST_SPOKEN` words. A leading "It" becomes the `subject`, where its name is known.
    """
    wanted, sentence = _plain(span), _SPACE.sub(" ", sentence)
    readings = (sentence, _IN_BRACKETS.sub(r", \1, ", sentence), span)
    whole = next((plain for plain in map(_plain, readings) if wanted in plain), wanted)
    bare = _RELATIVE.sub(lambda aside: aside[0] if wanted in aside[0] else "", whole)
    clauses = (clause for reading in (whole, bare) for clause in _clauses(reading) if wanted in clause)
    clause = next(filter(_is_short, (_named(clause, subject) for clause in clauses)), None)
    if clause is None:
        about = subject or title
        part = _phrase(whole, wanted) or whole
        return as_sentence(f"{about}: {part}" if about and _is_short(f"{about} {part}") else part)
    return as_sentence(clause)


def _named(clause: str, subject: str | None) -> str:
    """Return the clause with the subject's name in place of a leading pronoun."""
    pronoun = _PRONOUN.match(clause) if subject else None
    return f"{subject}{clause[pronoun.end() :]}" if pronoun else clause


def _phrase(sentence: str, wanted: str) -> str:
    """Return the words that answer with the rest of their name or noun phrase, which readers often cut."""
    start = sentence.find(wanted)
    end = start + len(wanted)
    left = max(0, start - _LONGEST_NAME)
    before = _NAME_BEFORE.search(sentence, left, start) if wanted[:1].isupper() else None
    after = _PHRASE_AFTER.match(sentence, end)
    rest = _VERB.split(after[0])[0] if after else ""
    return sentence[before.start() if before else start : end] + rest.rstrip()


def speak_attribute(sentence: str, span: str, name: str) -> str:
    """Return what to say of an attribute, "The begun of Doge's Palace is 1340.": its key and value.

    The whole value, or `span` of a long one.
    """
    key, _, value = sentence.removeprefix("The ").partition(f" of {name} is ")
    if not value:
        return as_sentence(sentence)
    whole = as_sentence(f"{key}: {value.removesuffix('.')}")
    return whole if _is_short(f"{key}: {value}") else as_sentence(f"{key}: {_plain(span)}")


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


def _clauses(sentence: str) -> Iterator[str]:
    """Yield the sentence, its beginnings, longest first, and its clauses with a subject of their own."""
    yield sentence
    ends = [*(match.span() for match in _CLAUSE_END.finditer(sentence)), (len(sentence), len(sentence))]
    pauses = {end for end, _ in ends} | {match.start() for match in _PHRASE_END.finditer(sentence)}
    verb = _VERB.search(sentence)
    least = verb.end() if verb else len(sentence) + 1
    yield from (sentence[:end] for end in sorted(pauses, reverse=True) if end >= least)
    for (_, start), (end, _) in pairwise(ends):
        clause = _JOINING.sub("", sentence[start:end], count=1)
        first = clause.partition(" ")[0]
        if (first.casefold() in _SUBJECTS or first[:1].isupper()) and _VERB.search(clause):
            yield clause


def _is_short(text: str) -> bool:
    return len(text.split(maxsplit=MOST_SPOKEN)) <= MOST_SPOKEN


def _plain(text: str) -> str:
    spaced = _ASIDE.sub("", _SPACE.sub(" ", text))
    return _REPEATED_POINT.sub(r"\1", _BEFORE_POINT.sub(r"\1", spaced)).strip(" ,;:–—-[]()\"“”'")
