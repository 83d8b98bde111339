"""What the published baselines ask of a reasoner: a VLM or, in the pocket profile, the reader's adapter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from chassis.resilience.deadlines import Deadline
from gateway.reasoning.pieces import first_pieces
from gateway.reasoning.port import ReadPhoto
from gateway.state import Entity, Evidence, GenerationBudget, Query, Reply

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


class BaselineReasoner(Protocol):
    """One model call each. All may raise what `chassis.errors` declares; none keeps state between calls.

    `read_photo` is for a reasoner that does not see the photo; one that does leaves it alone.
    """

    async def answer_alone(self, query: Query, read_photo: ReadPhoto, deadline: Deadline) -> Reply:
        """From photo, question and conversation, without any search."""
        ...

    async def rewrite_query(
        self, query: Query, found: Retrieved, read_photo: ReadPhoto, deadline: Deadline
    ) -> str:
        """The question as a search that stands without the photo, in the light of what image search found."""
        ...

    async def answer_from(
        self,
        query: Query,
        found: Retrieved,
        read_photo: ReadPhoto,
        generation: GenerationBudget,
        deadline: Deadline,
    ) -> Reply:
        """From all that and what was found; quotes name pieces of `found.evidence`, or the photo's print
        as the piece after the last."""
        ...


class StepByStepReasoner(Protocol):
    """A reasoner that can think aloud."""

    async def answer_in_steps(self, query: Query, read_photo: ReadPhoto, deadline: Deadline) -> Reply:
        """As `answer_alone`, reasoning step by step first."""
        ...


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
