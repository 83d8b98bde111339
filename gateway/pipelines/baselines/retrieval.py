"""Search as the published baselines do: results in search order, cut to what a prompt holds."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.reasoning.pieces import first_pieces
from gateway.state import Entity, Evidence
from gateway.steps import evidence

HEADING_CHARS = 100
"""The characters of a title in a prompt."""
_FENCE_CHARS = 40
"""A piece of evidence costs so much beside its text and title."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The results of the searches, in their order.

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

    def within(self, image_chars: int, page_chars: int) -> "Findings":
        """The first of it, as much as the budgets hold: names go before records, the last piece is cut."""
        ends = list(accumulate(map(_name_chars, self.things)))
        things = self.things[: bisect_right(ends, image_chars)]
        left = image_chars - sum(map(_name_chars, things))
        records = first_pieces(self.records, left, _beside_chars)
        return Findings(things, records, first_pieces(self.pages, page_chars, _beside_chars))


def _name_chars(thing: Entity) -> int:
    return min(len(thing.name), HEADING_CHARS) + len("; ")


def _piece_chars(piece: Evidence) -> int:
    return len(piece.text) + _beside_chars(piece)


def _beside_chars(piece: Evidence) -> int:
    return min(len(piece.title), HEADING_CHARS) + _FENCE_CHARS


def things_and_records(hits: Sequence[Entity], run: Run, similar_from: float = 0.0) -> Findings:
    """Return the hits that are alike enough, with the attributes of each as sentences, in their order.

    `similar_from`: a cosine; of a hit without one, a probability. Signal: `image_top`, the highest
    probability, alike enough or not.
    """
    things = tuple(
        hit for hit in hits if (hit.probability if hit.cosine is None else hit.cosine) >= similar_from
    )
    run.explain.signal("image_top", max((hit.probability for hit in hits), default=None))
    run.explain.note(Stage.IMAGE_SEARCH, (f"{thing.name} {thing.probability:.3f}" for thing in things))
    return Findings(things=things, records=evidence.attributes_of(things))
