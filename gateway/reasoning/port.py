"""What the pipeline asks of a reasoner: a VLM or, in the pocket profile, the extractive reader."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from chassis.deadlines import Deadline
from gateway.state import Ask, Draft, Entity, Evidence, Findings, PhotoText, Reply

ReadPhoto = Callable[[], Awaitable[PhotoText]]
"""Waits for the OCR that already runs; awaiting it twice is free."""


class Reasoner(Protocol):
    """Every method may raise what `chassis.errors` declares; none of them keeps state between calls."""

    async def draft(self, ask: Ask, read_photo: ReadPhoto, deadline: Deadline) -> Draft:
        """A first look: what is asked, a provisional answer, and what must be looked up."""
        ...

    async def select_entity(
        self,
        ask: Ask,
        draft: Draft,
        candidates: Sequence[Entity],
        photo_text: PhotoText,
        deadline: Deadline,
    ) -> Entity | None:
        """The candidate that the question is about and that is really there, or None (3.4.4)."""
        ...

    async def bridge(self, ask: Ask, draft: Draft, findings: Findings, deadline: Deadline) -> tuple[str, ...]:
        """Sub-queries that only the evidence in hand makes possible (the second hop); usually none."""
        ...

    async def answer(self, ask: Ask, draft: Draft, findings: Findings, deadline: Deadline) -> Reply:
        """The answer that the evidence supports, with the quotes it rests on, or an honest None."""
        ...

    async def judge(self, ask: Ask, reply: Reply, evidence: Sequence[Evidence], deadline: Deadline) -> float:
        """Probability that the answer is right, for borderline cases only."""
        ...
