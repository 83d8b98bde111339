"""Search results of a baseline, cut to what its prompt holds."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.reasoning.pieces import first_pieces
from gateway.state import Entity, Evidence

HEADING_CHARS = 100
"""What is shown of a title."""
_FENCE_CHARS = 40
"""A piece of evidence costs so much beside its text and title."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What the searches brought, in their order.

    `things`: what image search took the photo for; `records`: what is known of them; `pages`: what pages say.
    """

    things: tuple[Entity, ...] = ()
    records: tuple[Evidence, ...] = ()
    pages: tuple[Evidence, ...] = ()

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Records, then pages: what quotes are counted by."""
        return (*self.records, *self.pages)

    @property
    def image_chars(self) -> int:
        """Characters that image search takes of a prompt: names and records."""
        return sum(map(_name_chars, self.things)) + sum(map(_piece_chars, self.records))

    @property
    def page_chars(self) -> int:
        """Characters that pages take of a prompt."""
        return sum(map(_piece_chars, self.pages))

    def within(self, image_chars: int, page_chars: int) -> "Retrieved":
        """The first of it, as much as the budgets hold: names go before records, the last piece is cut."""
        things = _first_things(self.things, image_chars)
        left = image_chars - sum(map(_name_chars, things))
        records = first_pieces(self.records, left, _beside_chars)
        return Retrieved(things, records, first_pieces(self.pages, page_chars, _beside_chars))


def _first_things(things: Sequence[Entity], most: int) -> tuple[Entity, ...]:
    kept: list[Entity] = []
    for thing in things:
        most -= _name_chars(thing)
        if most < 0:
            break
        kept.append(thing)
    return tuple(kept)


def _name_chars(thing: Entity) -> int:
    return min(len(thing.name), HEADING_CHARS) + len("; ")


def _piece_chars(piece: Evidence) -> int:
    return len(piece.text) + _beside_chars(piece)


def _beside_chars(piece: Evidence) -> int:
    return min(len(piece.title), HEADING_CHARS) + _FENCE_CHARS
