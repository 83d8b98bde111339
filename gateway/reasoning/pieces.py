"""Shorten texts and remove markup: evidence for prompts of limited size, and spoken words."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from gateway.state import Evidence
from language.sentences import sentences
from language.words import content_stems, fold, visible

LEAST_CUT = 80
"""Characters below which a piece is left out rather than cut."""


HEADING_CHARS = 170
"""The most characters of a piece's heading in a prompt, with delimiters and a title of 100 characters."""

_READ = 16


def first_pieces(
    pieces: Sequence[Evidence], most_chars: int, beside: Callable[[Evidence], int] = lambda _: 0
) -> tuple[Evidence, ...]:
    """As many as fit, the last of them cut. `beside`: characters that a piece takes beside its text."""
    first: list[Evidence] = []
    for piece in pieces:
        room = most_chars - beside(piece)
        if len(piece.text) > room:
            text = whole_sentences(piece.text, room)
            first += [replace(piece, text=text)] if text else []
            break
        most_chars = room - len(piece.text)
        first.append(piece)
    return tuple(first)


def shorten(pieces: Sequence[Evidence], most_chars: int, query: str) -> tuple[Evidence, ...]:
    """Every piece, cut to its share of `most_chars`, heading included; short ones leave theirs to the others.

    Of a piece that is cut, what has most words of `query`.
    """
    left, share = most_chars, most_chars
    for place, length in enumerate(sorted(len(piece.text) + HEADING_CHARS for piece in pieces)):
        share = left // (len(pieces) - place)
        left -= min(length, share)
    return tuple(replace(piece, text=excerpt(piece.text, share - HEADING_CHARS, query)) for piece in pieces)


def excerpt(text: str, most_chars: int, query: str) -> str:
    """The whole sentences in a row, `most_chars` at most, that have most words of `query`; first of equals.

    Words are looked for by their stems' letters, which costs little. Of a very long text the head is read.
    """
    if most_chars <= 0:
        return ""
    if len(text) <= most_chars:
        return text.strip()
    wanted = content_stems(query)
    parts = sentences(text[: most_chars * _READ])
    has = [{stem for stem in wanted if stem in fold(sentence.text)} for sentence in parts]
    best, most = text[:most_chars], -1
    for first, sentence in enumerate(parts):
        last = first
        while last + 1 < len(parts) and parts[last + 1].end - sentence.start <= most_chars:
            last += 1
        count = len(set().union(*has[first : last + 1]))
        if count > most:
            best, most = text[sentence.start : min(parts[last].end, sentence.start + most_chars)], count
    return best.strip()


def readable_excerpt(text: str, most_chars: int, query: str) -> str:
    """As `excerpt`, for people: a sentence that is too long ends behind a word."""
    part = excerpt(text, most_chars, query)
    following = text[text.index(part) + len(part) :][:1]
    return part.rsplit(maxsplit=1)[0] if part[-1:].isalnum() and following.isalnum() else part


def whole_sentences(text: str, most_chars: int) -> str:
    """Return as many as fit; of a first one that is too long, its beginning."""
    if len(text) <= most_chars:
        return text.strip()
    if most_chars < LEAST_CUT:
        return ""
    ends = (sentence.end for sentence in sentences(text) if sentence.end <= most_chars)
    return text[: max(ends, default=most_chars)].strip()


def once(pieces: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Return each text once, at its first place."""
    unique: dict[str, Evidence] = {}
    for piece in pieces:
        unique.setdefault(piece.text, piece)
    return tuple(unique.values())


_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,15}://(?:[^\s/?#@]*@)?([^\s/?#]*)[^\s]*", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z!|][^<>]{0,200}>|[*`]{2,}")


def one_line(text: str) -> str:
    """Without hidden and control characters, white space made single."""
    return " ".join(visible(text).split())


def without_markup(text: str) -> str:
    """An answer as it may be said and shown: no markup, and of a web address only the host.

    A picture or link in an answer could carry the conversation to its address.
    """
    plain = _TAG.sub("", _LINK.sub(r"\1", one_line(text)))
    return one_line(_ADDRESS.sub(r"\1", plain)).strip("*`_ ")


_ORDERS = re.compile(
    r"\W*(?:(?:please|now|always|just|only|you (?:must|should|will)|assistant|system|user)\b[\s,:]*){0,3}"
    r"(?:(?:answer|reply|respond|say|output|state)\b"
    r"(?:\s+(?:only|just|exactly|always|with|that|this|as follows|to (?:all|every|any) \w+)\b){0,3}\s*:\s*\S"
    r"|(?:answer|reply|respond|say|output)\s+(?:only|exactly|always)\b"
    r"|(?:ignore|disregard|forget|override)\b.{0,30}\b(?:instructions?|prompts?|questions?|above|previous)\b)",
    re.IGNORECASE,
)
"""A verb of answering, with what is to be answered after a colon or "only"; or the call to forget orders."""


def orders_answer(text: str) -> bool:
    """Return whether a line of print tells whoever answers questions what to say: "Answer only: 7 pages".

    Not so signs that address passers-by ("Push", "Say no to plastic"), nor forms ("Reply by 3 May").
    """
    return _ORDERS.match(text) is not None
