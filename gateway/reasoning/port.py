"""The interface of a reasoner: a VLM or, in the lite profile, an adapter of the reader service."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from chassis.resilience.deadlines import Deadline
from contracts.domain_router import Domain
from gateway.state import (
    Context,
    Draft,
    Entity,
    GenerationBudget,
    PhotoText,
    Query,
    Reading,
    Reply,
    ToRead,
)

ReadPhoto = Callable[[], Awaitable[PhotoText]]
"""Waits for the OCR that already runs; awaiting it twice is free."""


Read = Callable[[str, Sequence[ToRead], str | None, Deadline], Awaitable[Sequence[Reading]]]
"""The reader service: returns the best answer to a question in the passages, if any; see `Services.read`."""


class Answering(Protocol):
    """A reasoner that answers from evidence.

    Every method may raise what `chassis.errors` declares; none of them keeps state between calls.
    """

    def drafts(self, query: Query) -> bool:
        """Return whether this reasoner can draft for the question: a model needs a photo that it sees."""

    async def rewrite(self, query: Query, deadline: Deadline) -> str:
        """Return a follow-up question in words that need no conversation."""

    async def answer(
        self, query: Query, draft: Draft, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        """Return the answer that the evidence supports, with the quotes it rests on, or an honest None.

        `generation` bounds what a model reads and writes for it.
        """


class Reasoner(Answering, Protocol):
    """The reasoner of the default pipeline."""

    async def draft(
        self, query: Query, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        """A first look: what is asked, a provisional answer, and what must be looked up.

        `domain`: the question's, if it is known by now.
        """

    async def select_entity(
        self,
        query: Query,
        draft: Draft,
        candidates: Sequence[Entity],
        photo_text: PhotoText,
        deadline: Deadline,
    ) -> Entity | None:
        """Return the candidate that the question is about and that is really there, or None (3.4.4)."""
