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
from gateway.llm.completion import Completion
from gateway.llm.delimiting import EvidenceBlocks, evidence_blocks, fence, harmless
from gateway.llm.prompt import Prompt, Value, VlmOptions, prompt_text
from gateway.llm.reading import (
    draft_with_tools,
    judgement_of,
    no_answer,
    printed_quotes,
    reply_of_text,
    search_phrase,
    without_thoughts,
)
from gateway.llm.server import VlmDeclined
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
from language.names import agreement, coverage, mentions, same_name
from language.words import content_stems, squeeze


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
        return self._usual.sees_photos

    async def complete(self, prompt: Prompt[Value], deadline: Deadline) -> Completion[Value]:
        return await self._others.get(prompt.name, self._usual).complete(prompt, deadline)


DEFAULTS = VlmOptions()
_WAIT_FOR_PRINT_S = 2.0
"""At most so long a finished draft waits for OCR, which only adds the citation of what was read."""


async def answer_in_text(
    client: Model,
    prompt: Prompt[str],
    evidence: Sequence[Evidence],
    places: Sequence[int],
    deadline: Deadline,
) -> Reply | None:
    """Return the answer with the sentence that it can be traced to, if any; None for a refusal.

    `places`: the places in `evidence` of what the model was shown.
    """
    try:
        completion = await client.complete(prompt, deadline)
    except VlmDeclined:
        return None
    return await anyio.to_thread.run_sync(  # finding the quote takes tens of milliseconds
        reply_of_text, completion, evidence, places, abandon_on_cancel=True
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
        prompt, blocks = self._answer_prompt(query, context, generation)
        reply = await answer_in_text(self._client, prompt, context.evidence, blocks.places, deadline)
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
            lambda blocks: asking.text_prompt(
                self.answer_prompt, query, options, limit, thing=thing, evidence=blocks.text
            ),
            lambda tokens: evidence_blocks(context.evidence, tokens - judge_tokens, most, asking.PIECE_CHARS),
        )


class VlmReasoner(AnsweringVlm):
    """A `Reasoner` of at most two calls: one for the draft, one for the answer."""

    async def draft(
        self, query: Query, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        """One call for the whole first look."""
        prompt = asking.understand(query, domain, self._options)
        completion = await self._client.complete(prompt, deadline)
        draft = draft_with_tools(completion, query, prompt_text("understand").cases)
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


NAMED_BY_MODEL = 0.7
"""Probability of a name that only the model gave: nothing contradicts it, no search confirms it."""
UNCONFIRMED = 0.5
"""Image-search probability from which a candidate stands though neither print nor model names it."""
OVERRULES_MODEL = 0.85
"""Image-search probability from which a candidate stands though the model named something else."""
CLEAR = 0.6
"""OCR's score from which a line of print is trusted to contradict."""
_AGREES = 0.75
_FEW_LETTERS = 40
_KIND_BONUS = 0.05
_UNLABELLED = content_stems(
    "painting drawing sculpture photograph plant flower tree animal building landmark"
)


def select_entity(
    query: Query, draft: Draft, candidates: Sequence[Entity], photo_text: PhotoText
) -> Entity | None:
    """The candidate that model and print agree on; else the model's own name; else what is remembered."""
    if draft.entity is not None and mentions(query.question, draft.entity):
        return _thing_of_question(draft.entity, query, candidates)
    plausible = [
        (entity, share) for entity in candidates if (share := _print_says(entity, photo_text)) is not None
    ]
    remembered = query.remembered
    if draft.entity is not None:
        named = [entity for entity, _ in plausible if _same_thing(entity.name, draft.entity)]
        if named:
            return max(named, key=lambda entity: entity.probability)
        if remembered is not None and _same_thing(remembered.name, draft.entity):
            return remembered
        return _proven(plausible) or Entity(draft.entity, NAMED_BY_MODEL)
    best = max(plausible, key=lambda pair: _standing(pair, draft), default=None)
    if best is not None and (best[1] >= _AGREES or best[0].probability >= UNCONFIRMED):
        return best[0]
    return remembered if not query.photo_is_new or query.photo is None else None


def _thing_of_question(name: str, query: Query, candidates: Sequence[Entity]) -> Entity:
    """The thing that the asker named: certain, with what a candidate or the conversation knows of it."""
    things = [*candidates, *([query.remembered] if query.remembered else [])]
    same = next((entity for entity in things if _same_thing(entity.name, name)), None)
    return replace(same, probability=1.0) if same is not None else Entity(name, 1.0)


def _print_says(entity: Entity, photo_text: PhotoText) -> float | None:
    """Share of the name that is printed in the photo, 0 if the photo hardly has print; None: contradicted."""
    clear = "\n".join(line.text for line in photo_text.lines if line.score >= CLEAR)
    share = agreement(entity.name, clear)
    # Things of these kinds seldom carry their names: stray words do not contradict them.
    is_unlabelled = any(_UNLABELLED & content_stems(value) for _, value in entity.attributes)
    if share is None or (share < _AGREES and len(squeeze(clear)) < _FEW_LETTERS and is_unlabelled):
        return 0.0
    if share > 0.5 and entity.probability >= OVERRULES_MODEL:
        return max(share, _AGREES)
    return share if share >= _AGREES else None


def _same_thing(name: str, other: str) -> bool:
    """One name holds the other: "Fiat 500" and "Fiat 500 (2007)", but not "Fiat" and "Fiat 500"."""
    if same_name(name, other):
        return True
    shorter, longer = sorted((name, other), key=lambda each: len(content_stems(each)))
    return len(content_stems(shorter)) >= 2 and coverage(shorter, longer) >= 0.999


def _proven(plausible: Sequence[tuple[Entity, float]]) -> Entity | None:
    """Return the best candidate that overrules the model: printed in the photo, or almost certain."""
    proven = [(e, share) for e, share in plausible if share >= _AGREES or e.probability >= OVERRULES_MODEL]
    best = max(proven, key=lambda pair: (pair[1], pair[0].probability), default=None)
    return best[0] if best is not None else None


def _standing(pair: tuple[Entity, float], draft: Draft) -> tuple[float, float]:
    """Return a sort key: print, then image search; of near equals, the kind that the question names first."""
    entity, share = pair
    described = " ".join([entity.name, *(value for _, value in entity.attributes)])
    of_kind = bool(content_stems(draft.object_label or "") & content_stems(described))
    return share, entity.probability + (_KIND_BONUS if of_kind else 0.0)
