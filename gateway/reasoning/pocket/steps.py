"""The pocket reasoner behind the published systems' ports, so that their pipelines need no model."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import anyio

from chassis.deadlines import Deadline
from contracts.answer import Reason, Route
from contracts.domain_router import Domain
from gateway.reasoning.baselines import Retrieved
from gateway.reasoning.pocket.asking import ENTITY
from gateway.reasoning.pocket.photo import photo_evidence, readable
from gateway.reasoning.pocket.reasoner import LIKELY, WAITING_SHARE, PocketReasoner
from gateway.reasoning.port import Read, ReadPhoto
from gateway.reasoning.sighting import Sighting
from gateway.reasoning.wiki_prf import Gathered, PhotoTool, ToolCall, ToolPlan
from gateway.state import Ask, Draft, Effort, Entity, Evidence, Findings, PhotoText, Quote, Reply, Tool
from language.names import mentions
from language.reference import pointer, with_subject
from language.sentences import sentences
from language.words import content_stems, unique

T = TypeVar("T")
CAPTION_CHARS = 300
MOST_SENTENCES = 24


class PocketSteps(PocketReasoner):
    """A `StepwiseReasoner`: QA-Dragon's steps, each a part of what the draft knows already."""

    match_entity = PocketReasoner.select_entity

    async def chain_of_thought(
        self, ask: Ask, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        """The draft."""
        return await self.draft(ask, read_photo, deadline)

    async def choose_tools(self, ask: Ask, draft: Draft, deadline: Deadline) -> frozenset[Tool]:
        """What the draft asks for already."""
        return draft.tools

    async def list_objects(self, ask: Ask, deadline: Deadline) -> tuple[str, ...]:
        """The kind of thing that the question points at, if it says so."""
        shown = pointer(ask.question)
        return (shown.nouns,) if shown and shown.nouns else ()

    async def select_object(self, ask: Ask, labels: Sequence[str], deadline: Deadline) -> str | None:
        """The label that stands in the question; else the first."""
        asked = content_stems(ask.question)
        return next((label for label in labels if content_stems(label) & asked), next(iter(labels), None))

    async def split_query(self, ask: Ask, draft: Draft, deadline: Deadline) -> tuple[str, ...]:
        """The draft's sub-queries."""
        return draft.sub_queries

    async def enhance_queries(
        self, ask: Ask, queries: Sequence[str], entity: Entity | None, deadline: Deadline
    ) -> tuple[str, ...]:
        """The thing's name in its slot, and in a query that only points at it."""
        return tuple(_with_name(query, entity) for query in queries)


class _Blind:
    """What the published systems' adapters have in common: photos are read and recognised for them."""

    sees = False
    _adds_print = False

    def __init__(self, read: Read) -> None:
        self._pocket = PocketReasoner(read)

    async def _look(self, sighting: Sighting, deadline: Deadline) -> tuple[Draft, Findings]:
        """What is asked, the thing and the print, as far as time allows."""
        things, printed = tuple[Entity, ...](), PhotoText()
        with anyio.move_on_after(deadline.remaining_s() * WAITING_SHARE):
            things = await sighting.recognise()
            printed = await sighting.read_photo()
        draft = await self._pocket.draft(sighting.ask, partial(_told, printed), deadline)
        thing = await self._pocket.select_entity(sighting.ask, draft, things, printed, deadline)
        return draft, Findings(Route.RAG, thing, printed)

    async def _answer(
        self, sighting: Sighting, evidence: Sequence[Evidence], effort: Effort, deadline: Deadline
    ) -> Reply:
        draft, seen = await self._look(sighting, deadline)
        pieces = (*evidence, *(photo_evidence(seen.photo_text) if self._adds_print else ()))
        known = replace(seen, evidence=pieces)
        return _if_likely(await self._pocket.answer(sighting.ask, draft, known, effort, deadline))


class PocketBaselines(_Blind):
    """A `BaselineReasoner`. What it reads off the photo stands for what a model would see there."""

    _adds_print = True

    async def answer_alone(self, ask: Ask, read_photo: ReadPhoto, deadline: Deadline) -> Reply:
        """What the photo's own words answer."""
        draft = await self._pocket.draft(ask, read_photo, deadline)
        quotes = tuple(Quote(0, text) for text in draft.quotes)
        return _if_likely(Reply(draft.answer, draft.confidence, quotes, Reason.MODEL_UNSURE))

    async def rewrite_query(
        self, ask: Ask, found: Retrieved, read_photo: ReadPhoto, deadline: Deadline
    ) -> str:
        """The question with the thing's name in it; as it is where there is no name to put in."""
        _, seen = await self._look(Sighting(ask, read_photo, partial(_told, found.things)), deadline)
        return _with_name(ask.question, seen.entity)

    async def answer_from(
        self, ask: Ask, found: Retrieved, read_photo: ReadPhoto, effort: Effort, deadline: Deadline
    ) -> Reply:
        """The answer that print and pieces support."""
        sighting = Sighting(ask, read_photo, partial(_told, found.things))
        return await self._answer(sighting, found.evidence, effort, deadline)


class PocketThreeStep(_Blind):
    """A `ThreeStepReasoner`: wordings by rule, not by draw, and the reranker's order."""

    async def sample_queries(self, sighting: Sighting, count: int, deadline: Deadline) -> tuple[str, ...]:
        """The question with the thing's name, the draft's searches, the question itself: always the same."""
        question = sighting.ask.question
        draft, seen = await self._look(sighting, deadline)
        wordings = [_with_name(query, seen.entity) for query in (question, *draft.sub_queries)]
        return tuple(unique(query for query in (*wordings, question) if ENTITY not in query)[:count])

    async def rank(
        self, ask: Ask, found: Sequence[Evidence], most: int, deadline: Deadline
    ) -> tuple[int, ...]:
        """The order in hand: the reranker service knows better, and is asked instead."""
        return tuple(range(min(most, len(found))))

    async def answer(
        self, sighting: Sighting, findings: Findings, effort: Effort, deadline: Deadline
    ) -> Reply:
        """What the evidence says, with the photo's own words and the thing that both agree on."""
        return await self._answer(sighting, findings.evidence, effort, deadline)


class PocketWikiPrf(_Blind):
    """A `WikiPrfReasoner`: a plan by rule, knowledge by the words of the question."""

    async def plan_tools(self, sighting: Sighting, deadline: Deadline) -> ToolPlan:
        """Grounding of the kind of thing that the question names; a caption of what the photo prints."""
        draft, seen = await self._look(sighting, deadline)
        caption = " ".join(readable(seen.photo_text).plain.split())[:CAPTION_CHARS]
        wanted = ((PhotoTool.GROUNDING, draft.object_label), (PhotoTool.CAPTION, caption))
        return ToolPlan(tuple(ToolCall(tool, content) for tool, content in wanted if content))

    async def describe(self, ask: Ask, caption: str, deadline: Deadline) -> str:
        """The print with the question: who cannot see has no better description."""
        return f"{caption} {ask.question}"[:CAPTION_CHARS]

    async def filter(self, ask: Ask, gathered: Gathered, deadline: Deadline) -> str:
        """The sentences that share most with the question, a line each, in their order."""
        asked = content_stems(ask.question)
        found = unique(part.text for item in gathered.evidence for part in sentences(item.text))
        likely = sorted(found, key=lambda text: -len(asked & content_stems(text)))[:MOST_SENTENCES]
        return "\n".join(text for text in found if text in set(likely))

    async def answer(
        self,
        sighting: Sighting,
        knowledge: str | None,
        findings: Findings,
        effort: Effort,
        deadline: Deadline,
    ) -> Reply:
        """What the sentences of the knowledge say; all of the evidence where a model has written it anew."""
        kept = frozenset((knowledge or "").splitlines())
        narrowed = tuple(_narrowed(item, kept) for item in findings.evidence)
        pieces = narrowed if any(item.text for item in narrowed) else findings.evidence
        return await self._answer(sighting, pieces, effort, deadline)


async def _told(known: T) -> T:
    return known


def _if_likely(reply: Reply) -> Reply:
    """The published systems hold nothing against a threshold: a reply that is rather wrong is none."""
    return reply if reply.confidence >= LIKELY else replace(reply, answer=None, quotes=())


def _with_name(query: str, thing: Entity | None) -> str:
    """The query with the thing's name in its slot, or where it only points at the thing."""
    if thing is None or ENTITY in query or mentions(query, thing.name) or pointer(query) is None:
        return query.replace(ENTITY, thing.name) if thing else query
    return with_subject(query, thing.name)


def _narrowed(item: Evidence, kept: frozenset[str]) -> Evidence:
    """The same piece, of which only its kept sentences are left."""
    return replace(item, text="\n".join(part.text for part in sentences(item.text) if part.text in kept))
