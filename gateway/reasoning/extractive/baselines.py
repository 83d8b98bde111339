"""The baselines' calls without a model: the extractive reader, told to look where the baseline looks."""

import anyio

from chassis.deadlines import Deadline
from contracts.answer import CitationKind, Reason, Route
from gateway.reasoning.baselines import Retrieved
from gateway.reasoning.extractive.drafting import ENTITY
from gateway.reasoning.extractive.reasoner import LEAST, ExtractiveReasoner
from gateway.reasoning.extractive.stepwise import with_name
from gateway.reasoning.port import ReadPhoto
from gateway.state import Ask, Draft, Effort, Entity, Evidence, Findings, PhotoText, Quote, Reply

_TO_THINK_S = 0.2
"""Kept of the time when OCR hangs."""


class ExtractiveBaselines:
    """A `BaselineReasoner` so that the baselines run in the pocket profile too.

    What it reads off the photo stands for what a model would see there.
    """

    def __init__(self, reasoner: ExtractiveReasoner | None = None) -> None:
        self._reasoner = reasoner or ExtractiveReasoner()

    async def answer_alone(self, ask: Ask, read_photo: ReadPhoto, deadline: Deadline) -> Reply:
        """What the photo's own words answer."""
        draft = await self._reasoner.draft(ask, read_photo, deadline)
        if draft.answer is None or draft.confidence < LEAST:
            return Reply(None, draft.confidence, reason=Reason.MODEL_UNSURE)
        return Reply(draft.answer, draft.confidence, tuple(Quote(0, text) for text in draft.quotes))

    async def rewrite_query(
        self, ask: Ask, found: Retrieved, read_photo: ReadPhoto, deadline: Deadline
    ) -> str:
        """What is asked of the thing, by its name; the question itself where there is no name to put in."""
        draft, thing, _ = await self._look(ask, found, read_photo, deadline)
        if thing is None:
            return ask.question
        open_part = next((part for part in draft.sub_queries if ENTITY in part), ask.question)
        return with_name(open_part, thing.name)

    async def answer_from(
        self, ask: Ask, found: Retrieved, read_photo: ReadPhoto, effort: Effort, deadline: Deadline
    ) -> Reply:
        """The answer that print and pieces support."""
        draft, thing, printed = await self._look(ask, found, read_photo, deadline)
        evidence = (*found.evidence, *_print(printed))
        return await self._reasoner.answer(
            ask, draft, Findings(Route.RAG, thing, printed, evidence), effort, deadline
        )

    async def _look(
        self, ask: Ask, found: Retrieved, read_photo: ReadPhoto, deadline: Deadline
    ) -> tuple[Draft, Entity | None, PhotoText]:
        """What is asked, the one of `found.things` that the print bears out, and the print."""
        printed = PhotoText()
        with anyio.move_on_after(max(deadline.remaining_s() - _TO_THINK_S, deadline.remaining_s() / 2)):
            printed = await read_photo()

        async def read() -> PhotoText:
            return printed

        draft = await self._reasoner.draft(ask, read, deadline)
        thing = await self._reasoner.select_entity(ask, draft, found.things, printed, deadline)
        return draft, thing, printed


def _print(printed: PhotoText) -> tuple[Evidence, ...]:
    source = Evidence(printed.plain, "The photo", "", CitationKind.PHOTO)
    return (source,) if printed.lines else ()
