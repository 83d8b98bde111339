"""The lite reasoner behind the `three-step` pipeline."""

from collections.abc import Sequence

from chassis.resilience.deadlines import Deadline
from gateway.reasoning.lite.blind import BlindReader, with_name
from gateway.reasoning.lite.question import ENTITY
from gateway.reasoning.photo_context import PhotoContext
from gateway.state import (
    Context,
    Evidence,
    GenerationBudget,
    Query,
    Reply,
)
from language.words import unique


class LiteThreeStep(BlindReader):
    """A `ThreeStepReasoner`: wordings by rule, not by draw, and the reranker's order."""

    async def sample_queries(
        self, photo_context: PhotoContext, count: int, deadline: Deadline
    ) -> tuple[str, ...]:
        """The question with the thing's name, the draft's searches, the question itself: always the same."""
        question = photo_context.query.question
        draft, seen = await self.seen_by_services(photo_context, deadline)
        wordings = [with_name(query, seen.entity) for query in (question, *draft.sub_queries)]
        return tuple(unique(query for query in (*wordings, question) if ENTITY not in query)[:count])

    async def rank(
        self, query: Query, found: Sequence[Evidence], most: int, deadline: Deadline
    ) -> tuple[int, ...]:
        """The order in hand: the reranker service knows better, and is asked instead."""
        return tuple(range(min(most, len(found))))

    async def answer(
        self, photo_context: PhotoContext, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        """What the evidence says, with the photo's own words and the thing that both agree on."""
        return await self.answer_with(photo_context, context.evidence, generation, deadline)
