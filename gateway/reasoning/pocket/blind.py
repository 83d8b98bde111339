"""What the pocket reasoner is for the published systems: a reader that does not see the photo."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import anyio

from chassis.resilience.deadlines import Deadline
from contracts.answer import Route
from gateway.reasoning.photo_context import PhotoContext
from gateway.reasoning.pocket.asking import ENTITY
from gateway.reasoning.pocket.photo import photo_evidence
from gateway.reasoning.pocket.reasoner import LIKELY, WAITING_SHARE, PocketReasoner
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
from language.reference import pointer, with_subject

T = TypeVar("T")


class BlindReader:
    """What the published systems' adapters have in common: photos are read and recognised for them."""

    sees = False
    adds_print = False

    def __init__(self, read: Read) -> None:
        self.pocket = PocketReasoner(read)

    async def seen_by_services(
        self, photo_context: PhotoContext, deadline: Deadline
    ) -> tuple[Draft, Context]:
        """What is asked, the thing and the print, as far as time allows."""
        things, printed = tuple[Entity, ...](), PhotoText()
        with anyio.move_on_after(deadline.remaining_s() * WAITING_SHARE):
            things = await photo_context.recognise()
            printed = await photo_context.read_photo()
        draft = await self.pocket.read_off(photo_context.query, partial(resolved, printed), deadline)
        thing = await self.pocket.select_entity(photo_context.query, draft, things, printed, deadline)
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
        return if_likely(await self.pocket.answer(photo_context.query, draft, known, generation, deadline))


async def resolved(value: T) -> T:
    """For callers that wait for what is known already."""
    return value


def if_likely(reply: Reply) -> Reply:
    """The published systems hold nothing against a threshold: a reply that is rather wrong is none."""
    return reply if (reply.confidence or 0.0) >= LIKELY else replace(reply, answer=None, quotes=())


def with_name(query: str, thing: Entity | None) -> str:
    """The query with the thing's name in its slot, or where it only points at the thing."""
    if thing is None or ENTITY in query or mentions(query, thing.name) or pointer(query) is None:
        return query.replace(ENTITY, thing.name) if thing else query
    return with_subject(query, thing.name)
