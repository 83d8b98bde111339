"""What the extractive reasoner makes of a sighting: print, draft and thing, each as far as time allows."""

from dataclasses import dataclass

import anyio

from chassis.deadlines import Deadline
from gateway.reasoning.extractive.reasoner import ExtractiveReasoner
from gateway.reasoning.sighting import Sighting
from gateway.state import Draft, Entity, PhotoText

_SHARE = 0.6
"""Of the time that is left, at most for waiting: without print and pictures there is still the question."""


@dataclass(frozen=True, slots=True)
class Looked:
    """The first look. `entity`: the thing that the question is about, if it could be told."""

    draft: Draft
    entity: Entity | None
    photo_text: PhotoText


async def look_at(reasoner: ExtractiveReasoner, sighting: Sighting, deadline: Deadline) -> Looked:
    """Read the photo, understand the question, choose among the things that the photo is like."""
    candidates = tuple[Entity, ...]()
    printed = PhotoText()
    with anyio.move_on_after(deadline.remaining_s() * _SHARE):
        candidates = await sighting.recognise()
        printed = await sighting.read_photo()

    async def read() -> PhotoText:
        return printed

    draft = await reasoner.draft(sighting.ask, read, deadline)
    entity = await reasoner.select_entity(sighting.ask, draft, candidates, printed, deadline)
    return Looked(draft, entity, printed)
