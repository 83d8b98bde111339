"""Evidence in part, for prompts that hold only so much of it."""

from collections.abc import Iterable, Sequence
from itertools import accumulate

from gateway.state import Evidence


def first_pieces(pieces: Sequence[Evidence], most_chars: int) -> tuple[Evidence, ...]:
    """As many as fit."""
    ends = accumulate(len(piece.text) for piece in pieces)
    return tuple(piece for piece, end in zip(pieces, ends, strict=True) if end <= most_chars)


def once(pieces: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Each text once, at its first place."""
    found: dict[str, Evidence] = {}
    for piece in pieces:
        found.setdefault(piece.text, piece)
    return tuple(found.values())
