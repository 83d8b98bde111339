"""The lite reasoner behind the baselines."""

from functools import partial

from chassis.resilience.deadlines import Deadline
from contracts.answer import Reason
from gateway.pipelines.baselines.port import Retrieved
from gateway.reasoning.lite.blind import BlindReader, if_likely, resolved, with_name
from gateway.reasoning.photo_context import PhotoContext
from gateway.reasoning.port import ReadPhoto
from gateway.state import (
    GenerationBudget,
    Query,
    Quote,
    Reply,
)


class LiteBaselines(BlindReader):
    """A `BaselineReasoner`. What it reads off the photo stands for what a model would see there."""

    adds_print = True

    async def answer_alone(self, query: Query, read_photo: ReadPhoto, deadline: Deadline) -> Reply:
        """What the photo's own words answer."""
        draft = await self.lite.read_off(query, read_photo, deadline)
        quotes = tuple(Quote(0, text) for text in draft.quotes)
        return if_likely(Reply(draft.answer, draft.confidence, quotes, Reason.MODEL_UNSURE))

    async def rewrite_query(
        self, query: Query, found: Retrieved, read_photo: ReadPhoto, deadline: Deadline
    ) -> str:
        """The question with the thing's name in it; as it is where there is no name to put in."""
        _, seen = await self.seen_by_services(
            PhotoContext(query, read_photo, partial(resolved, found.things)), deadline
        )
        return with_name(query.question, seen.entity)

    async def answer_from(
        self,
        query: Query,
        found: Retrieved,
        read_photo: ReadPhoto,
        generation: GenerationBudget,
        deadline: Deadline,
    ) -> Reply:
        """The answer that print and pieces support."""
        photo_context = PhotoContext(query, read_photo, partial(resolved, found.things))
        return await self.answer_with(photo_context, found.evidence, generation, deadline)
