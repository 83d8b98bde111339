"""The lite reasoner behind the `qa-dragon` pipeline."""

from collections.abc import Sequence

from chassis.resilience.deadlines import Deadline
from contracts.domain_router import Domain
from gateway.reasoning.lite.blind import with_name
from gateway.reasoning.lite.reasoner import LiteReasoner
from gateway.reasoning.port import ReadPhoto
from gateway.state import (
    Draft,
    Entity,
    Query,
    Tool,
)
from language.words import content_stems


class LiteSteps(LiteReasoner):
    """A `StepwiseReasoner`: QA-Dragon's steps, each a part of what the draft knows already."""

    match_entity = LiteReasoner.select_entity

    async def chain_of_thought(
        self, query: Query, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        """The draft."""
        return await self.read_off(query, read_photo, deadline)

    async def choose_tools(self, query: Query, draft: Draft, deadline: Deadline) -> frozenset[Tool]:
        """What the draft asks for already."""
        return draft.tools

    async def list_objects(self, query: Query, deadline: Deadline) -> tuple[str, ...]:
        """None: the question alone does not tell."""
        return ()

    async def select_object(self, query: Query, labels: Sequence[str], deadline: Deadline) -> str | None:
        """The label that stands in the question; else the first."""
        asked = content_stems(query.question)
        return next((label for label in labels if content_stems(label) & asked), next(iter(labels), None))

    async def split_query(self, query: Query, draft: Draft, deadline: Deadline) -> tuple[str, ...]:
        """The draft's sub-queries."""
        return draft.sub_queries

    async def enhance_queries(
        self, query: Query, queries: Sequence[str], entity: Entity | None, deadline: Deadline
    ) -> tuple[str, ...]:
        """The thing's name in its slot, and in a query that only points at it."""
        return tuple(with_name(text, entity) for text in queries)
