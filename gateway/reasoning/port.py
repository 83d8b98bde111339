"""What the pipeline asks of a reasoner: a VLM or, in the pocket profile, an adapter of the reader service."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from chassis.deadlines import Deadline
from contracts.domain_router import Domain
from gateway.state import (
    Ask,
    Draft,
    Effort,
    Entity,
    Evidence,
    Findings,
    Found,
    PhotoText,
    Reply,
    Tool,
    ToRead,
    Turn,
)

ReadPhoto = Callable[[], Awaitable[PhotoText]]
"""Waits for the OCR that already runs; awaiting it twice is free."""


class Read(Protocol):
    """The reader service; see `Services.read`."""

    async def __call__(
        self,
        question: str,
        passages: Sequence[ToRead],
        subject: str | None,
        history: Sequence[Turn],
        top_n: int,
        deadline: Deadline,
    ) -> Sequence[Found]:
        """What in the passages answers the question, best first. Raises what calls to services raise."""
        ...


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

    async def answer(
        self, ask: Ask, draft: Draft, findings: Findings, effort: Effort, deadline: Deadline
    ) -> Reply:
        """The answer that the evidence supports, with the quotes it rests on, or an honest None.

        `effort` bounds what a model reads and writes for it.
        """
        ...

    async def judge(self, ask: Ask, reply: Reply, evidence: Sequence[Evidence], deadline: Deadline) -> float:
        """Probability that the answer is right, for borderline cases only."""
        ...


class StepwiseReasoner(Protocol):
    """QA-Dragon's own order of questions, one model call each (sections refer to the paper)."""

    async def chain_of_thought(
        self, ask: Ask, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        """A provisional answer and its reasoning trace, with the domain's own advice and cases (3.1.2)."""
        ...

    async def choose_tools(self, ask: Ask, draft: Draft, deadline: Deadline) -> frozenset[Tool]:
        """Which searches the reasoning trace calls for (3.3)."""
        ...

    async def list_objects(self, ask: Ask, deadline: Deadline) -> tuple[str, ...]:
        """Categories of the things in the photo that the question may be about (3.4.1)."""
        ...

    async def select_object(self, ask: Ask, labels: Sequence[str], deadline: Deadline) -> str | None:
        """The one of `labels` that the question is about, with what tells it from its like (3.4.1)."""
        ...

    async def match_entity(
        self,
        ask: Ask,
        draft: Draft,
        candidates: Sequence[Entity],
        photo_text: PhotoText,
        deadline: Deadline,
    ) -> Entity | None:
        """The candidate that is really in the photo, or None (3.4.4)."""
        ...

    async def split_query(self, ask: Ask, draft: Draft, deadline: Deadline) -> tuple[str, ...]:
        """Sub-queries that can each be searched alone; `{entity}` stands for the thing (3.5.1)."""
        ...

    async def enhance_queries(
        self, ask: Ask, queries: Sequence[str], entity: Entity | None, deadline: Deadline
    ) -> tuple[str, ...]:
        """The sub-queries with the verified thing in place of "this" and "it" (3.5.1, 3.5.2)."""
        ...

    async def answer(
        self, ask: Ask, draft: Draft, findings: Findings, effort: Effort, deadline: Deadline
    ) -> Reply:
        """Reason and answer from the assembled evidence (3.7.1)."""
        ...

    async def judge(self, ask: Ask, reply: Reply, evidence: Sequence[Evidence], deadline: Deadline) -> float:
        """Probability that photo and evidence bear the answer out (3.7.2)."""
        ...
