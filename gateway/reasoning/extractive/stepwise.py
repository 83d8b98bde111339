"""QA-Dragon's steps without a model: what the extractive reasoner knows, told one step at a time."""

from collections.abc import Sequence
from dataclasses import replace

from chassis.deadlines import Deadline
from contracts.domain_router import Domain
from gateway.reasoning.extractive.drafting import ENTITY
from gateway.reasoning.extractive.entities import entity_from_text
from gateway.reasoning.extractive.lexical import fold, words
from gateway.reasoning.extractive.question import TargetKind, analyse
from gateway.reasoning.extractive.reasoner import ExtractiveReasoner
from gateway.reasoning.extractive.subjects import topic_of_conversation
from gateway.reasoning.port import ReadPhoto
from gateway.state import Ask, Draft, Effort, Entity, Evidence, Findings, PhotoText, Reply, Tool

_BEAR_THEIR_NAME = frozenset(
    {"book", "novel", "label", "box", "packet", "package", "bottle", "can", "jar", "bag", "pack"}
)
"""Kinds of things whose name is printed on them, as a rule."""
_POINTING = frozenset({"this", "that", "it", "its", "these", "those", "here"})


class StepwiseExtractiveReasoner:
    """A `StepwiseReasoner` so that the paper's pipeline runs in the pocket profile too."""

    def __init__(self, reasoner: ExtractiveReasoner | None = None) -> None:
        self._reasoner = reasoner or ExtractiveReasoner()

    async def chain_of_thought(
        self, ask: Ask, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        """The draft, with the thing's name where the conversation or its own print tells it."""
        draft = await self._reasoner.draft(ask, read_photo, deadline)
        if draft.entity is not None:
            return draft
        return replace(draft, entity=_name_in_hand(ask, draft, await read_photo()))

    async def choose_tools(self, ask: Ask, draft: Draft, deadline: Deadline) -> frozenset[Tool]:
        """What the draft asks for already."""
        return draft.tools

    async def list_objects(self, ask: Ask, deadline: Deadline) -> tuple[str, ...]:
        """The kind of thing that the question points at, if it says so."""
        label = analyse(ask).target.label
        return (label,) if label else ()

    async def select_object(self, ask: Ask, labels: Sequence[str], deadline: Deadline) -> str | None:
        """The label that stands in the question; else the first."""
        asked = set(words(ask.question))
        return next((label for label in labels if set(words(label)) & asked), next(iter(labels), None))

    async def match_entity(
        self,
        ask: Ask,
        draft: Draft,
        candidates: Sequence[Entity],
        photo_text: PhotoText,
        deadline: Deadline,
    ) -> Entity | None:
        """What picture, print and conversation agree on."""
        return await self._reasoner.select_entity(ask, draft, candidates, photo_text, deadline)

    async def split_query(self, ask: Ask, draft: Draft, deadline: Deadline) -> tuple[str, ...]:
        """The draft's sub-queries."""
        return draft.sub_queries

    async def enhance_queries(
        self, ask: Ask, queries: Sequence[str], entity: Entity | None, deadline: Deadline
    ) -> tuple[str, ...]:
        """The thing's name in its slot, and before a query that only points at it."""
        if entity is None:
            return tuple(queries)
        return tuple(with_name(query, entity.name) for query in queries)

    async def answer(
        self, ask: Ask, draft: Draft, findings: Findings, effort: Effort, deadline: Deadline
    ) -> Reply:
        """The answer that the evidence supports."""
        return await self._reasoner.answer(ask, draft, findings, effort, deadline)

    async def judge(self, ask: Ask, reply: Reply, evidence: Sequence[Evidence], deadline: Deadline) -> float:
        """The second opinion on it."""
        return await self._reasoner.judge(ask, reply, evidence, deadline)


def _name_in_hand(ask: Ask, draft: Draft, photo_text: PhotoText) -> str | None:
    if analyse(ask).target.kind is TargetKind.HISTORY:
        topic = topic_of_conversation(ask)
        return topic.name if topic else None
    if draft.object_label in _BEAR_THEIR_NAME:
        printed = entity_from_text(photo_text)
        return printed.name if printed else None
    return None


def with_name(query: str, name: str) -> str:
    """The query with the thing's name in its slot, or before it where it only points at the thing."""
    if ENTITY in query:
        return query.replace(ENTITY, name)
    points = bool(_POINTING & set(words(query)))
    return f"{name} {query}" if points and fold(name) not in fold(query) else query
