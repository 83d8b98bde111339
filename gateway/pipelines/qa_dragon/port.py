"""What the `qa-dragon` pipeline asks of a reasoner."""

from collections.abc import Sequence
from typing import Protocol

from chassis.resilience.deadlines import Deadline
from contracts.domain_router import Domain
from gateway.reasoning.port import ReadPhoto
from gateway.state import (
    Context,
    Draft,
    Entity,
    GenerationBudget,
    PhotoText,
    Query,
    Reply,
    Tool,
)


class StepwiseReasoner(Protocol):
    """QA-Dragon's own order of questions, one model call each (sections refer to the paper)."""

    def drafts(self, query: Query) -> bool:
        """Return whether this reasoner can draft for the question: a model needs a photo that it sees."""
        ...

    async def rewrite(self, query: Query, deadline: Deadline) -> str:
        """Return a follow-up question in words that need no conversation."""
        ...

    async def chain_of_thought(
        self, query: Query, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        """A provisional answer and its reasoning trace, with the domain's own advice and cases (3.1.2)."""
        ...

    async def choose_tools(self, query: Query, draft: Draft, deadline: Deadline) -> frozenset[Tool]:
        """Which searches the reasoning trace calls for (3.3)."""
        ...

    async def list_objects(self, query: Query, deadline: Deadline) -> tuple[str, ...]:
        """Categories of the things in the photo that the question may be about (3.4.1)."""
        ...

    async def select_object(self, query: Query, labels: Sequence[str], deadline: Deadline) -> str | None:
        """The one of `labels` that the question is about, with what tells it from its like (3.4.1)."""
        ...

    async def match_entity(
        self,
        query: Query,
        draft: Draft,
        candidates: Sequence[Entity],
        photo_text: PhotoText,
        deadline: Deadline,
    ) -> Entity | None:
        """The candidate that is really in the photo, or None (3.4.4)."""
        ...

    async def split_query(self, query: Query, draft: Draft, deadline: Deadline) -> tuple[str, ...]:
        """Sub-queries that can each be searched alone; `{entity}` stands for the thing (3.5.1)."""
        ...

    async def enhance_queries(
        self, query: Query, queries: Sequence[str], entity: Entity | None, deadline: Deadline
    ) -> tuple[str, ...]:
        """The sub-queries with the verified thing in place of "this" and "it" (3.5.1, 3.5.2)."""
        ...

    async def answer(
        self, query: Query, draft: Draft, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        """Reason and answer from the assembled evidence (3.7.1)."""
        ...

    async def judge(
        self, query: Query, reply: Reply, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> float | None:
        """Probability that photo and evidence bear the answer out (3.7.2); None where nothing tells."""
        ...
