"""An answer as it may be said: the clause that holds the words that answer, whole, and fit for an ear."""

import re
from collections.abc import Iterator
from itertools import islice, pairwise

from language.words import word_set

MOST_SPOKEN = 25
"""Words."""

_ASIDE = re.compile(r"\s*(?:\[[^\[\]]{0,80}\]|(?<!\w)\([^()]{0,200}\)|/[^/\s]{1,40}/)")
"""Footnote marks, brackets and phonetics; not the brackets of "T(n)"."""
_IN_BRACKETS = re.compile(r"\s*[(\[]([^()\[\]]{1,200})[)\]]")
_WORD = re.compile(r"\S+")
_SPACE = re.compile(r"\s+")
_BEFORE_POINT = re.compile(r"\s+([,.;:!?])")
_REPEATED_POINT = re.compile(r",\s*([,.;:!?])")
_CLAUSE_END = re.compile(
    r"\s*[;:|–—]\s+|,\s+(?=(?:and|but|or|while|whereas|although|which|who|where|when|because|so)\b)"
)
_COMMA = re.compile(r",\s+")
_CLAUSE_START = re.compile(r"[;:|–—]\s+|,\s+(?:but|while|whereas|although|because|so)\s+")
_PREDICATE_END = re.compile(r"\s+(?=and\s+(?:is|are|was|were|has|have|had|can|may|must|will)\b)")
_PHRASE_END = re.compile(
    r",\s+|\s+(?=(?:(?:(?:in|of|to|at|on|by|for|from|with|within|through|under|during)\s+)?which|who|because|while|whereas|although|where|when|since|until|unless|after"
    r"|before|if|though|due to|despite)\b)"
)
"""Where the beginning of a sentence may end, too: "body, within which" ends after "body"."""
_RELATIVE = re.compile(r",\s+(?:which|who|whose|where|when)\b[^,;:]{1,150},(?=\s)")
"""A relative clause inside a sentence, which stays whole without it."""
_LIST_ITEM = re.compile(r"[A-Z\d]|(?:and|or|but|although|because|our|the|an?)\b")
_PREDICATE = re.compile(r"([^,;:]{1,80}),\s+(?:which|who)\s+([^,;:]{1,150}),")
"""A subject and what a relative clause says of it: "The duchy, which began in 911, was …"."""
_PRESENT = re.compile(r"\w{2,}[^\Ws]s\s+(?:a|an|the|from|in|on|at|to|by|with)\b")
"""A word in "s" that may be a verb, as in "comes from"."""
_JOINING = re.compile(r"\A(?:and|but|so|while|whereas)\s+", re.IGNORECASE)
_UNFINISHED = re.compile(r"\b(?:and|or|but|as|of|to|by|in|on|at|for|from|with|the|an?)\Z", re.IGNORECASE)
"""A last word after which more must come."""
_VERB = re.compile(
    r"\b(?:is|are|was|were|been|has|have|had|can|could|will|would|may|must|does|do|did|became|began|made|took|led|"
    r"held|won|wrote|built|gave|said|went|came|left|ran|rose|fell|\w{2,}ed)\b"
)
"""What a cut sentence must have to be more than a fragment: the commonest verbs."""
_PAUSE_BEFORE = re.compile(r"[,;:|–—]\s+")
_JOINED = re.compile(r"\A(?:(?:and|but|or|so|that|which|who|with|by|on|at|of|in|for)\s+)*", re.IGNORECASE)
"""What a phrase does not begin with."""
_VERB_BEFORE = re.compile(
    rf"{_VERB.pattern}\s+(?!not\b|never\b|been\b)(?:(?:out|up|off|down|back|him|them|it)\s+)?|[;:|–—]\s+"
)
_LIST = re.compile(r",\s+(?:and|or)\b")
_FAR = 200
"""Characters before the words that answer in which a phrase may begin."""
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
    bare = _RELATIVE.sub(lambda aside: aside[0] if wanted in aside[0] else _remainder_of(aside), whole)
    clauses = (clause for reading in (whole, bare) for clause in _clauses(reading) if wanted in clause)
    clause = next(filter(_is_short, (_name_subject(clause, subject) for clause in clauses)), None)
    if clause is None:
        about = subject or title
        part = _phrase(whole, wanted, MOST_SPOKEN - len(about.split())) or whole
        return as_sentence(f"{about}: {part}" if about and _is_short(f"{about} {part}") else part)
    return as_sentence(clause)


def _name_subject(clause: str, subject: str | None) -> str:
    """Return the clause with the subject's name in place of a leading pronoun."""
    pronoun = _PRONOUN.match(clause) if subject else None
    return f"{subject}{clause[pronoun.end() :]}" if pronoun else clause


def _phrase(sentence: str, wanted: str, most: int) -> str:
    """Return the words that answer with those around them, from the last verb or pause to the next pause.

    In a list, from the last verb. At most `most` words, else only those that answer.
    """
    start = sentence.find(wanted)
    end = start + len(wanted)
    left = max(0, start - _FAR)
    verb, pause = (
        max((each.end() for each in mark.finditer(sentence, left, start)), default=0)
        for mark in (_VERB_BEFORE, _PAUSE_BEFORE)
    )
    nearest = max(verb, pause) or (start if left else 0)
    verb = verb or (nearest if left else 0)
    starts = (verb if _LIST.search(sentence, verb, end) else nearest, nearest, start)
    pauses = (_CLAUSE_END.search(sentence, end), _PHRASE_END.search(sentence, end))
    ends = [each.start() if each else len(sentence) for each in pauses]
    before = [_JOINED.sub("", sentence[each:start]) for each in starts]
    parts = (f"{words}{sentence[start:each]}".strip() for words in before for each in ends)
    return next(
        (part for part in parts if len(part.split()) <= most and not _UNFINISHED.search(part)), wanted
    )


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
    """Yield the sentence, its beginnings, and its clauses with a subject of their own.

    Beginnings that end where a clause ends come first: "if", "until" or "who" may begin a condition.
    """
    yield sentence
    ends = [*(match.span() for match in _CLAUSE_END.finditer(sentence)), (len(sentence), len(sentence))]
    verb = _VERB.search(_RELATIVE.sub(lambda aside: " " * len(aside[0]), sentence))
    least = verb.end() if verb else len(sentence) + 1
    words = islice(_WORD.finditer(sentence), MOST_SPOKEN, None)
    most = next((word.start() for word in words), len(sentence))
    for kind in (_CLAUSE_END, _PREDICATE_END, _COMMA, _PHRASE_END):
        pauses = [match.start() for match in kind.finditer(sentence, 0, most) if match.start() >= least]
        yield from (part for end in reversed(pauses) if _is_whole(part := sentence[:end]))
    predicate = _PREDICATE.match(sentence)
    if predicate and not (_VERB.search(predicate[1]) or _PRESENT.search(predicate[1])):
        yield f"{predicate[1]} {predicate[2]}"
    for (_, start), (end, _) in pairwise(ends):
        clause = _JOINING.sub("", sentence[start:end], count=1)
        first = clause.partition(" ")[0]
        if (first.casefold() in _SUBJECTS or first[:1].isupper()) and _VERB.search(clause):
            yield clause


def _remainder_of(aside: re.Match[str]) -> str:
    """Return what is left of a relative clause: a comma before another item of a list, else nothing."""
    return "," if _LIST_ITEM.match(aside.string, aside.end() + 1) else ""


def _is_whole(beginning: str) -> bool:
    """Return whether a sentence may end here: its last clause has a verb, and no phrase is unfinished."""
    return bool(_VERB.search(_CLAUSE_START.split(beginning)[-1])) and not _UNFINISHED.search(beginning)


def _is_short(text: str) -> bool:
    return len(text.split(maxsplit=MOST_SPOKEN)) <= MOST_SPOKEN


def _plain(text: str) -> str:
    spaced = _ASIDE.sub("", _SPACE.sub(" ", text))
    return _REPEATED_POINT.sub(r"\1", _BEFORE_POINT.sub(r"\1", spaced)).strip(" ,;:–—-[]()\"“”'")
