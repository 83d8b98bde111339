"""The model of the published baselines: one call each, without examples, as their papers have it.

Sources: "LLM only", "CoT" and "Direct RAG" of QA-Dragon's Table 2; CRAG-MM's straightforward solutions, its
appendix C.1. Words and formats are ours; what enters a prompt, and how much of it, is theirs.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Annotated

from pydantic import Field

from chassis.resilience.deadlines import Deadline
from contracts.answer import Reason
from gateway.llm.asking import prompt_of, text_prompt
from gateway.llm.completion import Completion
from gateway.llm.delimiting import EvidenceBlocks, evidence_blocks, fence
from gateway.llm.prompt import VlmOptions
from gateway.llm.reading import confidence, search_phrase
from gateway.llm.reasoner import Model, answer_in_text
from gateway.llm.schemas import Blank, QueryText, Sentence, Steps, Structured
from gateway.llm.server import VlmDeclined
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.reasoning.pieces import first_pieces
from gateway.reasoning.refusals import spoken_answer
from gateway.state import ENTITY_SLOT, Entity, Evidence, GenerationBudget, Query, Reply
from gateway.steps import evidence

ANSWER_TOKENS, STEPS_TOKENS, QUERY_TOKENS = 160, 448, 96
"""The longest replies. CRAG-MM counts 75 tokens of an answer."""
WHOLE_TURNS, WHOLE_CHARS, WHOLE_SHARE = 12, 6_000, 1 / 4
"""A conversation: as many turns as a session keeps, at 75 tokens an answer and as many a question."""
IMAGE_SHARE = 1 / 5
"""Of the evidence, where the window has no room for all: 2,000 of 10,000 tokens (CRAG-MM, appendix C.1)."""
_UNKNOWN = Reply(None, 0.0, reason=Reason.MODEL_UNSURE)
_DEFAULTS = VlmOptions()
_NOTHING_ALIKE = "Image search: nothing like it was found."


HEADING_CHARS = 100
"""The characters of a title in a prompt."""
_FENCE_CHARS = 40
"""A piece of evidence costs so much beside its text and title."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The results of the searches, in their order.

    `things`: what image search took the photo for; `records`: what is known of them; `pages`: what pages say.
    """

    things: tuple[Entity, ...] = ()
    records: tuple[Evidence, ...] = ()
    pages: tuple[Evidence, ...] = ()

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Records, then pages: what quotes are counted by."""
        return (*self.records, *self.pages)

    @property
    def image_chars(self) -> int:
        """Characters that image search takes of a prompt: names and records."""
        return sum(map(_name_chars, self.things)) + sum(map(_piece_chars, self.records))

    @property
    def page_chars(self) -> int:
        """Characters that pages take of a prompt."""
        return sum(map(_piece_chars, self.pages))

    def within(self, image_chars: int, page_chars: int) -> "Findings":
        """The first of it, as much as the budgets hold: names go before records, the last piece is cut."""
        ends = list(accumulate(map(_name_chars, self.things)))
        things = self.things[: bisect_right(ends, image_chars)]
        left = image_chars - sum(map(_name_chars, things))
        records = first_pieces(self.records, left, _beside_chars)
        return Findings(things, records, first_pieces(self.pages, page_chars, _beside_chars))


class SteppedAnswer(Structured):
    """An answer after its reasons (chain of thought)."""

    reasoning: Steps = Field(description="the steps of thought, one sentence each, at most five")
    answer: Annotated[Sentence | None, Blank] = Field(
        default=None, description="one short sentence, or: I don't know"
    )


class RewrittenQuery(Structured):
    """A search that stands without the photo (CRAG-MM, appendix C.1)."""

    query: QueryText = Field(description="the question as one line for a web search engine")


class VlmBaselines:
    """One call each. All may raise what `chassis.errors` declares; none keeps state between calls."""

    def __init__(self, client: Model, options: VlmOptions = _DEFAULTS) -> None:
        self._client = client
        self._options = _with_whole_conversation(options)

    async def answer_alone(self, query: Query, deadline: Deadline) -> Reply:
        """Return the answer from photo, question and conversation, without any search."""
        prompt = text_prompt("baselines/answer_alone", query, self._options, ANSWER_TOKENS)
        return await answer_in_text(self._client, prompt, (), (), deadline) or _UNKNOWN

    async def answer_in_steps(self, query: Query, deadline: Deadline) -> Reply:
        """As `answer_alone`, reasoning step by step first."""
        prompt = prompt_of("baselines/answer_in_steps", query, SteppedAnswer, self._options, STEPS_TOKENS)
        try:
            return _reply_of(await self._client.complete(prompt, deadline))
        except VlmDeclined:
            return _UNKNOWN

    async def rewrite_query(self, query: Query, results: Findings, deadline: Deadline) -> str:
        """Return the question as a search that stands without the photo, given what image search found.

        It is the question itself where the model leaves nothing of it.
        """
        name, options, images = "baselines/rewrite_query", self._options, replace(results, pages=())
        prompt, _ = options.window.fit(
            lambda blocks: prompt_of(
                name, query, RewrittenQuery, options, QUERY_TOKENS, material=blocks.text
            ),
            lambda tokens: _context(images, tokens),
        )
        completion = await self._client.complete(prompt, deadline)
        return search_phrase(completion.value.query.replace(ENTITY_SLOT, "")) or query.question

    async def answer_from(
        self, query: Query, results: Findings, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        """Return the answer from all that and what was found; quotes name pieces of `results.evidence`."""
        name, options = "baselines/answer_from_search", self._options
        limit = min(ANSWER_TOKENS, generation.answer_tokens)
        prompt, blocks = options.window.fit(
            lambda blocks: text_prompt(name, query, options, limit, material=blocks.text),
            lambda tokens: _context(results, tokens),
        )
        reply = await answer_in_text(self._client, prompt, results.evidence, blocks.places, deadline)
        return reply or _UNKNOWN


def _reply_of(completion: Completion[SteppedAnswer]) -> Reply:
    """Return the answer as the model gave it; one that was cut off is none: half a number is a wrong one."""
    text = spoken_answer(completion.value.answer if completion.whole else None)
    if text is None:
        return _UNKNOWN
    measured = completion.probabilities_of("answer")
    return Reply(text, confidence(measured), token_probabilities=measured)


def _with_whole_conversation(options: VlmOptions) -> VlmOptions:
    """Return the limits for all of it, as published."""
    return replace(
        options,
        history_turns=max(options.history_turns, WHOLE_TURNS),
        history_chars=max(options.history_chars, WHOLE_CHARS),
        history_share=max(options.history_share, WHOLE_SHARE),
    )


def _context(results: Findings, tokens: int) -> EvidenceBlocks:
    """Image search's part, of which records take `IMAGE_SHARE` of the tokens at most; then web search's."""
    for_records = round(tokens * IMAGE_SHARE) if results.pages else tokens
    text, records = _image_context(results, for_records)
    if not results.pages:
        return EvidenceBlocks(text, records)
    left = tokens - (for_records if records else 0)
    pages = evidence_blocks(results.pages, left)
    places = (len(results.records) + place for place in pages.places)
    return EvidenceBlocks(f"{text}\n\nWeb search. {pages.text}", (*records, *places))


def _image_context(results: Findings, tokens: int) -> tuple[str, tuple[int, ...]]:
    """Return the names of all that the photo is like, then what is known of the first of them."""
    if not results.things:
        return _NOTHING_ALIKE, ()
    names = fence(
        "names", "; ".join(" ".join(thing.name.split())[:HEADING_CHARS] for thing in results.things)
    )
    blocks = evidence_blocks(results.records, tokens)
    shown = f"\n{blocks.text}" if blocks.places else ""
    return f"Image search: things that look like the photo, the likest first.\n{names}{shown}", blocks.places


def _name_chars(thing: Entity) -> int:
    return min(len(thing.name), HEADING_CHARS) + len("; ")


def _piece_chars(piece: Evidence) -> int:
    return len(piece.text) + _beside_chars(piece)


def _beside_chars(piece: Evidence) -> int:
    return min(len(piece.title), HEADING_CHARS) + _FENCE_CHARS


def things_and_records(hits: Sequence[Entity], run: Run, similar_from: float = 0.0) -> Findings:
    """Return the hits that are alike enough, with the attributes of each as sentences, in their order.

    `similar_from`: a cosine; of a hit without one, a probability. Signal: `image_top`, the highest
    probability, alike enough or not.
    """
    things = tuple(
        hit for hit in hits if (hit.probability if hit.cosine is None else hit.cosine) >= similar_from
    )
    run.explain.signal("image_top", max((hit.probability for hit in hits), default=None))
    run.explain.note(Stage.IMAGE_SEARCH, (f"{thing.name} {thing.probability:.3f}" for thing in things))
    return Findings(things=things, records=evidence.attributes_of(things))
