"""Evidence in part, for prompts that hold only so much of it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from gateway.state import Evidence
from language.sentences import sentences

_LEAST_CUT = 80
"""Characters below which a piece is left out rather than cut."""


def _nothing(_: Evidence) -> int:
    return 0


def first_pieces(
    pieces: Sequence[Evidence], most_chars: int, beside: Callable[[Evidence], int] = _nothing
) -> tuple[Evidence, ...]:
    """As many as fit, the last of them cut. `beside`: characters that a piece takes beside its text."""
    kept: list[Evidence] = []
    for piece in pieces:
        room = most_chars - beside(piece)
        if len(piece.text) > room:
            text = whole_sentences(piece.text, room)
            kept += [replace(piece, text=text)] if text else []
            break
        most_chars = room - len(piece.text)
        kept.append(piece)
    return tuple(kept)


def whole_sentences(text: str, most_chars: int) -> str:
    """As many as fit; of a first one that is too long, its beginning."""
    if len(text) <= most_chars:
        return text.strip()
    if most_chars < _LEAST_CUT:
        return ""
    ends = (sentence.end for sentence in sentences(text) if sentence.end <= most_chars)
    return text[: max(ends, default=most_chars)].strip()


def once(pieces: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Each text once, at its first place."""
    found: dict[str, Evidence] = {}
    for piece in pieces:
        found.setdefault(piece.text, piece)
    return tuple(found.values())
