"""The VLM behind the `qa-dragon` pipeline: one call a question."""

from collections.abc import Sequence

from chassis.resilience.deadlines import Deadline
from contracts.domain_router import Domain
from gateway.llm.asking import domain_text
from gateway.llm.cleaning import ENTITY_SLOT, labels, listed_label, queries
from gateway.llm.failures import VlmDeclined
from gateway.llm.options import VlmOptions
from gateway.llm.reading import declined_draft, draft_of, whole
from gateway.llm.reasoner import AnsweringVlm, with_print
from gateway.pipelines.qa_dragon import asking
from gateway.reasoning.port import ReadPhoto
from gateway.state import Draft, Entity, PhotoText, Query, Tool


class StepwiseVlmReasoner(AnsweringVlm):
    """A `StepwiseReasoner`: QA-Dragon's own order of calls. Sections refer to the paper."""

    async def chain_of_thought(
        self, query: Query, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        """The draft and its reasoning trace (3.1.2). Tools and sub-queries have calls of their own."""
        prompt = asking.chain_of_thought(query, domain, self._options)
        try:
            completion = await self._client.complete(prompt, deadline)
        except VlmDeclined:
            return declined_draft(query)
        draft = draft_of(completion, query, domain_text(domain).cases)
        return await with_print(draft, read_photo, deadline)

    async def choose_tools(self, query: Query, draft: Draft, deadline: Deadline) -> frozenset[Tool]:
        """The model's choice (3.3); without a photo there is none to search by."""
        completion = await self._client.complete(asking.choose_tools(query, draft, self._options), deadline)
        tools = frozenset(whole(completion).tools)
        return tools if query.photo is not None else tools - {Tool.IMAGE_SEARCH}

    async def list_objects(self, query: Query, deadline: Deadline) -> tuple[str, ...]:
        """Categories in the photo (3.4.1)."""
        if query.photo is None:
            return ()
        completion = await self._client.complete(asking.list_objects(query, self._options), deadline)
        return labels(whole(completion).objects, self._options.max_objects)

    async def select_object(self, query: Query, labels: Sequence[str], deadline: Deadline) -> str | None:
        """The one that is meant (3.4.1); None if the model names something that was not listed."""
        if not labels:
            return None
        completion = await self._client.complete(asking.select_object(query, labels, self._options), deadline)
        return listed_label(whole(completion).object_label, labels)

    async def match_entity(
        self,
        query: Query,
        draft: Draft,
        candidates: Sequence[Entity],
        photo_text: PhotoText,
        deadline: Deadline,
    ) -> Entity | None:
        """The candidate that is really in the photo (3.4.4), or None."""
        listed = candidates[: self._options.max_candidates]
        if not listed:
            return None
        prompt = asking.match_entity(query, draft, listed, photo_text, self._options)
        number = whole(await self._client.complete(prompt, deadline)).candidate
        return listed[number - 1] if number is not None and 1 <= number <= len(listed) else None

    async def split_query(self, query: Query, draft: Draft, deadline: Deadline) -> tuple[str, ...]:
        """Sub-queries that can each be searched alone (3.5.1)."""
        completion = await self._client.complete(asking.split_query(query, draft, self._options), deadline)
        return queries(whole(completion).queries, self._options.max_queries)

    async def enhance_queries(
        self, query: Query, queries: Sequence[str], entity: Entity | None, deadline: Deadline
    ) -> tuple[str, ...]:
        """The sub-queries with the verified thing's name (3.5.1, 3.5.2); those that stay open are dropped."""
        if not queries:
            return ()
        prompt = asking.enhance_queries(query, queries, entity, self._options)
        rewritten = whole(await self._client.complete(prompt, deadline)).queries
        return _named(rewritten, entity, self._options) or _named(queries, entity, self._options)


def _named(texts: Sequence[str], entity: Entity | None, options: VlmOptions) -> tuple[str, ...]:
    """Clean searches with the name in every open place."""
    name = entity.name if entity is not None else None
    filled = [
        text.replace(ENTITY_SLOT, name or "")
        for text in queries(texts, options.max_queries)
        if name is not None or ENTITY_SLOT not in text
    ]
    return queries(filled, options.max_queries)
