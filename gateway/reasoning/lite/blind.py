"""What the lite reasoner is for the published systems: a reader that does not see the photo."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import anyio

from chassis.resilience.deadlines import Deadline
from contracts.answer import Route
from gateway.reasoning.lite.photo import photo_evidence
from gateway.reasoning.lite.question import ENTITY
from gateway.reasoning.lite.reasoner import WAITING_SHARE, LiteReasoner
from gateway.reasoning.photo_context import PhotoContext
from gateway.reasoning.port import Read
from gateway.state import (
    Context,
    Draft,
    Entity,
    Evidence,
    GenerationBudget,
    PhotoText,
    Reply,
)
from language.names import mentions

T = TypeVar("T")

LIKELY = 0.5
"""Probability from which an answer is rather right than wrong."""


class BlindReader:
    """What the published systems' adapters have in common: photos are read and recognised for them."""

    sees = False
    adds_print = False

    def __init__(self, read: Read) -> None:
        self.lite = LiteReasoner(read)

    async def seen_by_services(
        self, photo_context: PhotoContext, deadline: Deadline
    ) -> tuple[Draft, Context]:
        """What is asked, the thing and the print, as far as time allows."""
        things, printed = tuple[Entity, ...](), PhotoText()
        with anyio.move_on_after(deadline.remaining_s() * WAITING_SHARE):
            things = await photo_context.recognise()
            printed = await photo_context.read_photo()
        draft = await self.lite.read_off(photo_context.query, partial(resolved, printed), deadline)
        thing = await self.lite.select_entity(photo_context.query, draft, things, printed, deadline)
        return draft, Context(Route.RAG, thing, printed)

    async def answer_with(
        self,
        photo_context: PhotoContext,
        evidence: Sequence[Evidence],
        generation: GenerationBudget,
        deadline: Deadline,
    ) -> Reply:
        """The answer from the evidence, and from the print where `adds_print`."""
        draft, seen = await self.seen_by_services(photo_context, deadline)
        pieces = (*evidence, *(photo_evidence(seen.photo_text) if self.adds_print else ()))
        known = replace(seen, evidence=pieces)
        return if_likely(await self.lite.answer(photo_context.query, draft, known, generation, deadline))


async def resolved(value: T) -> T:
    """For callers that wait for what is known already."""
    return value


def if_likely(reply: Reply) -> Reply:
    """The published systems hold nothing against a threshold: a reply that is rather wrong is none."""
    return reply if (reply.confidence or 0.0) >= LIKELY else replace(reply, answer=None, quotes=())


def with_name(query: str, thing: Entity | None) -> str:
    """Return the query with the thing's name in its slot or before it, unless it says the name."""
    if thing is None:
        return query
    if ENTITY in query:
        return query.replace(ENTITY, thing.name)
    return query if mentions(query, thing.name) else f"{thing.name} {query}"
