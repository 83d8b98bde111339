"""The VLM behind the default pipeline's port, and what all of its reasoners do alike.

Every call may raise what `VlmClient` raises, which are `LoreglassError`s; nothing the model says is logged.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio
import anyio.to_thread

from chassis.resilience.deadlines import Deadline
from contracts.domain_router import Domain
from gateway.llm import asking
from gateway.llm.cleaning import LABEL_WORDS, label
from gateway.llm.delimiting import Budget, EvidenceBlocks, evidence_blocks
from gateway.llm.failures import VlmDeclined
from gateway.llm.models import Model
from gateway.llm.options import VlmOptions
from gateway.llm.prompt import Prompt, Schema
from gateway.llm.quoting import printed_quotes
from gateway.llm.reading import declined_draft, no_answer, probability_correct, reply_of, understood
from gateway.llm.schemas import GroundedAnswer, Judgement, Understanding
from gateway.llm.selection import select_entity
from gateway.reasoning.port import ReadPhoto, Seek
from gateway.state import Context, Draft, Entity, Evidence, GenerationBudget, PhotoText, Query, Reply

DEFAULTS = VlmOptions()
_WAIT_FOR_PRINT_S = 2.0
"""At most so long a finished draft waits for OCR, which only adds the citation of what was read."""


class AnsweringVlm:
    """Answers from evidence, and judges: alike for `loreglass` and `qa-dragon`."""

    def __init__(self, client: Model, options: VlmOptions = DEFAULTS) -> None:
        self._client = client
        self._options = options

    async def answer(
        self, query: Query, draft: Draft, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        """One call: reason, answer and the numbers of the evidence it rests on (3.7.1)."""

        def prompt_with(shown: EvidenceBlocks) -> Prompt[GroundedAnswer]:
            return asking.answer(query, draft, context.entity, shown, self._options, generation.answer_tokens)

        budget = self._options.evidence.at_most(generation.evidence_chars)
        prompt, shown = self._fitted(prompt_with, context.evidence, budget)
        try:
            completion = await self._client.complete(prompt, deadline)
        except VlmDeclined:
            return no_answer(context)
        return await anyio.to_thread.run_sync(  # finding the quotes takes tens of milliseconds
            reply_of, completion, context, shown, self._options, abandon_on_cancel=True
        )

    async def judge(
        self, query: Query, reply: Reply, evidence: Sequence[Evidence], deadline: Deadline
    ) -> float:
        """One call: the verdict's probability (3.7.2); 0 without a call if there is nothing to judge."""
        answered = reply.answer
        if answered is None or not reply.says_something:
            return 0.0

        def prompt_with(shown: EvidenceBlocks) -> Prompt[Judgement]:
            return asking.judge(query, answered, shown, self._options)

        prompt, _ = self._fitted(prompt_with, _quoted_first(reply, evidence), self._options.evidence)
        return probability_correct(await self._client.complete(prompt, deadline), self._options)

    def _fitted(
        self,
        prompt_with: Callable[[EvidenceBlocks], Prompt[Schema]],
        evidence: Sequence[Evidence],
        budget: Budget,
    ) -> tuple[Prompt[Schema], EvidenceBlocks]:
        """The prompt, and the evidence as shown: as much as budget and window hold."""
        window = self._options.window
        return window.fitted(prompt_with, lambda tokens: evidence_blocks(evidence, budget.within(tokens)))


class VlmReasoner(AnsweringVlm):
    """A `Reasoner` of at most three calls: one for the draft, one for the answer, one to judge it."""

    async def draft(
        self, query: Query, domain: Domain | None, read_photo: ReadPhoto, seek: Seek, deadline: Deadline
    ) -> Draft:
        """One call for the whole first look."""

        def hear(so_far: Understanding) -> None:
            sought = label(so_far.image_search, LABEL_WORDS)
            if sought is not None:
                seek(sought)

        prompt = replace(asking.understand(query, domain, self._options), hear=hear)
        try:
            completion = await self._client.complete(prompt, deadline)
        except VlmDeclined:
            return declined_draft(query)
        return await with_print(understood(completion, query, self._options), read_photo, deadline)

    async def select_entity(
        self,
        query: Query,
        draft: Draft,
        candidates: Sequence[Entity],
        photo_text: PhotoText,
        deadline: Deadline,
    ) -> Entity | None:
        """By rule: the first look has already named the thing where it could."""
        return select_entity(query, draft, candidates, photo_text)

    async def next_hop(
        self, query: Query, draft: Draft, context: Context, deadline: Deadline
    ) -> tuple[str, ...]:
        """None: the first look split the question, and another call is not worth its time."""
        return ()


def _quoted_first(reply: Reply, evidence: Sequence[Evidence]) -> list[Evidence]:
    """What the answer rests on must not fall to the budget."""
    quoted = dict.fromkeys(quote.index for quote in reply.quotes if 0 <= quote.index < len(evidence))
    order = [*quoted, *(index for index in range(len(evidence)) if index not in quoted)]
    return [evidence[index] for index in order]


async def with_print(draft: Draft, read_photo: ReadPhoto, deadline: Deadline) -> Draft:
    """An answer read from the photo cites the printed lines it repeats, if OCR has them in time."""
    if draft.answer is None or not draft.self_contained:
        return draft
    printed = PhotoText()
    with anyio.move_on_after(min(_WAIT_FOR_PRINT_S, deadline.remaining_s() / 2)):
        printed = await read_photo()
    return replace(draft, quotes=printed_quotes(draft.answer, printed))
