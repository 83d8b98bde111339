"""The VLM behind the default pipeline's port, and what all of its reasoners do alike.

Every call may raise what `VlmClient` raises, which are `LoreglassError`s; nothing the model says is logged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Protocol

import anyio
import anyio.to_thread

from chassis.resilience.deadlines import Deadline
from contracts.domain_router import Domain
from gateway.llm import asking
from gateway.llm.cleaning import search_phrase, without_thoughts
from gateway.llm.completion import Completion
from gateway.llm.delimiting import EvidenceBlocks, evidence_blocks, fence, harmless
from gateway.llm.failures import VlmDeclined
from gateway.llm.prompt import Prompt, Value, VlmOptions, prompt_text
from gateway.llm.reading import (
    draft_with_tools,
    judgement_of,
    no_answer,
    printed_quotes,
    reply_of_text,
)
from gateway.llm.selection import select_entity
from gateway.reasoning.port import ReadPhoto
from gateway.state import (
    Context,
    Draft,
    Entity,
    Evidence,
    GenerationBudget,
    Judgement,
    PhotoText,
    Query,
    Reply,
)


class Model(Protocol):
    """The interface that reasoners call; raises what `VlmClient` raises."""

    @property
    def sees_photos(self) -> bool:
        """False only if the model is known to take text alone: photos are then left out of its prompts."""

    async def complete(self, prompt: Prompt[Value], deadline: Deadline) -> Completion[Value]:
        """Return the reply to `prompt`, parsed."""


class ModelByPrompt:
    """A `Model` that passes each prompt on. `others`: by the prompt's name; `usual` has the rest."""

    def __init__(self, usual: Model, others: Mapping[str, Model]) -> None:
        self._usual = usual
        self._others = others

    @property
    def sees_photos(self) -> bool:
        """Return whether the usual model does."""
        return self._usual.sees_photos

    async def complete(self, prompt: Prompt[Value], deadline: Deadline) -> Completion[Value]:
        return await self._others.get(prompt.name, self._usual).complete(prompt, deadline)


DEFAULTS = VlmOptions()
_WAIT_FOR_PRINT_S = 2.0
"""At most so long a finished draft waits for OCR, which only adds the citation of what was read."""


async def answer_in_text(
    client: Model, prompt: Prompt[str], evidence: Sequence[Evidence], shown: Sequence[int], deadline: Deadline
) -> Reply | None:
    """Return the answer with the sentence that it can be traced to, if any; None for a refusal.

    `shown`: the places in `evidence` of what the model was shown.
    """
    try:
        completion = await client.complete(prompt, deadline)
    except VlmDeclined:
        return None
    return await anyio.to_thread.run_sync(  # finding the quote takes tens of milliseconds
        reply_of_text, completion, evidence, shown, abandon_on_cancel=True
    )


class AnsweringVlm:
    """Answers from evidence as `loreglass` and `qa-dragon` do, and judges as `qa-dragon` does."""

    answer_prompt: ClassVar = "answer"
    judge_prompts: ClassVar[tuple[str, ...]] = (asking.JUDGE,)

    def __init__(self, client: Model, options: VlmOptions = DEFAULTS) -> None:
        self._client = client
        self._options = options

    def drafts(self, query: Query) -> bool:
        """Return whether there is anything to look at: a photo, and a model that sees."""
        return query.photo is not None and self._client.sees_photos

    async def answer(
        self, query: Query, draft: Draft, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        """One call: the answer as text, and the sentence of the evidence that it can be traced to (3.7.1).

        Without evidence and without a photo nothing is asked: such an answer could cite nothing.
        """
        if not context.evidence and not self.drafts(query):
            return no_answer(context)
        prompt, shown = self._answer_prompt(query, context, generation)
        reply = await answer_in_text(self._client, prompt, context.evidence, shown.places, deadline)
        return reply or no_answer(context)

    async def judge(
        self,
        query: Query,
        reply: Reply,
        context: Context,
        generation: GenerationBudget,
        deadline: Deadline,
        name: str = asking.JUDGE,
    ) -> Judgement:
        """One call that goes on from the answer's: the probability that it is right (3.7.2).

        `name`: which of `judge_prompts` asks.
        """
        if reply.answer is None or not reply.says_something:
            return Judgement(0.0)
        answer_prompt, _ = self._answer_prompt(query, context, generation)
        earlier = asking.earlier_call(answer_prompt, harmless(reply.answer))
        tokens = asking.JUDGE_TOKENS[name]
        prompt = asking.text_prompt(name, query, self._options, tokens, earlier=earlier)
        return judgement_of(await self._client.complete(prompt, deadline), name != asking.JUDGE)

    async def rewrite(self, query: Query, deadline: Deadline) -> str:
        """One call: a follow-up question in words that need no conversation."""
        prompt = asking.text_prompt("rewrite", query, self._options, asking.REWRITE_TOKENS)
        completion = await self._client.complete(prompt, deadline)
        return search_phrase(without_thoughts(completion.text)) or query.question

    def _answer_prompt(
        self, query: Query, context: Context, generation: GenerationBudget
    ) -> tuple[Prompt[str], EvidenceBlocks]:
        """Return the prompt, and the evidence in it: as much as fits beside the judge's turn."""
        query = query if self._client.sees_photos else replace(query, photo=None)
        limit = min(asking.ANSWER_TOKENS, generation.answer_tokens)
        options, most = self._options, min(self._options.evidence_chars, generation.evidence_chars)

        judge_tokens = max(map(asking.judge_tokens, self.judge_prompts))
        entity = context.entity
        thing = fence("the thing asked about", entity.name) + "\n" if entity else ""
        return options.window.fit(
            lambda shown: asking.text_prompt(
                self.answer_prompt, query, options, limit, thing=thing, evidence=shown.text
            ),
            lambda tokens: evidence_blocks(
                context.evidence, tokens - judge_tokens, most, options.piece_chars
            ),
        )


class VlmReasoner(AnsweringVlm):
    """A `Reasoner` of at most two calls: one for the draft, one for the answer."""

    async def draft(
        self, query: Query, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        """One call for the whole first look."""
        prompt = asking.understand(query, domain, self._options)
        completion = await self._client.complete(prompt, deadline)
        draft = draft_with_tools(completion, query, self._options, prompt_text("understand").cases)
        return await with_print(draft, read_photo, deadline)

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


async def with_print(draft: Draft, read_photo: ReadPhoto, deadline: Deadline) -> Draft:
    """Cite the printed lines that an answer read from the photo repeats, if OCR has them in time."""
    if draft.answer is None or not draft.self_contained:
        return draft
    printed = PhotoText()
    with anyio.move_on_after(min(_WAIT_FOR_PRINT_S, deadline.remaining_s() / 2)):
        printed = await read_photo()
    return replace(draft, quotes=printed_quotes(draft.answer, printed))
