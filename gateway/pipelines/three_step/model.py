"""The VLM behind the `three-step` pipeline (BlackPearl, arXiv 2507.21520, section 3; words are ours)."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, TypeVar

import anyio
from pydantic import BeforeValidator, Field

from chassis.errors import LoreglassError
from chassis.resilience.deadlines import Deadline
from gateway.llm.asking import prompt_of, text_prompt
from gateway.llm.delimiting import EvidenceBlocks, evidence_blocks
from gateway.llm.prompt import Prompt, VlmOptions
from gateway.llm.reading import no_answer, queries, whole
from gateway.llm.reasoner import Model, answer_in_text
from gateway.llm.schemas import QueryText, Structured
from gateway.llm.server import VlmReplyUnusable
from gateway.reasoning.pieces import LEAST_CUT
from gateway.state import ENTITY_SLOT, Context, Evidence, GenerationBudget, Query, Reply

TEMPERATURE = 0.8
ANSWER_TOKENS = 75
"""Both are the paper's (4.1)."""
QUERY_TOKENS, RANK_TOKENS = 64, 96
MOST_NUMBERS = 10

Key = TypeVar("Key")
Result = TypeVar("Result")
_DEFAULTS = VlmOptions()
_NUMBER = re.compile(r"[0-9]{1,4}")


def _numbers(value: object) -> object:
    """A list of whole numbers, also where each is a string of digits. Raises `ValueError` for others."""
    spelled = [str(item).strip() for item in value] if isinstance(value, list) else [""]
    if any(_NUMBER.fullmatch(item) is None for item in spelled):
        raise ValueError("no list of whole numbers")
    return [int(item) for item in spelled][:MOST_NUMBERS]


class SearchPhrase(Structured):
    """One draw of step 1."""

    query: QueryText = Field(description="one search phrase, complete in itself")


class Ranking(Structured):
    """Step 2: the list. A reply without one is none."""

    relevant: Annotated[list[int], BeforeValidator(_numbers), Field(max_length=MOST_NUMBERS)] = Field(
        description="numbers of the pieces that help, the most helpful first, at most ten; [] for none"
    )


class ThreeStepVlmReasoner:
    """Several concurrent calls for the queries, one for the list, one for the answer.

    Each method may raise what `chassis.errors` declares; none keeps state between calls.
    """

    def __init__(self, client: Model, options: VlmOptions = _DEFAULTS) -> None:
        self._client = client
        self._options = options

    async def sample_queries(self, query: Query, count: int, deadline: Deadline) -> tuple[str, ...]:
        """Return up to `count` different searches for the question, each complete in itself (step 1, 3.1).

        A draw that fails costs that draw; raises if all do.
        """
        base = prompt_of("three_step/sample_query", query, SearchPhrase, self._options, QUERY_TOKENS)

        async def draw(seed: int) -> str:
            prompt: Prompt[SearchPhrase] = replace(base, temperature=TEMPERATURE, seed=seed)
            return whole(await self._client.complete(prompt, deadline)).query.replace(ENTITY_SLOT, " ")

        draws = await some_of({seed: partial(draw, seed) for seed in range(1, count + 1)})
        return queries(draws.values(), count)

    async def rank(
        self, query: Query, pieces: Sequence[Evidence], most: int, deadline: Deadline
    ) -> tuple[int, ...]:
        """Return the indices of what helps to answer, most relevant first, `most` at most (step 2, 3.2).

        Numbers of no piece and repeats are dropped; if nothing is left, raises `VlmReplyUnusable`.
        """
        if not pieces:
            return ()

        def prompt_with(shown: EvidenceBlocks) -> Prompt[Ranking]:
            name, options = "three_step/rank_evidence", self._options
            return prompt_of(name, query, Ranking, options, RANK_TOKENS, evidence=shown.text)

        def shown_within(tokens: int) -> EvidenceBlocks:
            """Return all pieces, shortened if space is short: a list that lacks some cannot rank them."""
            best, chars = evidence_blocks(pieces, tokens), max(len(piece.text) for piece in pieces)
            while tokens > 0 and chars > LEAST_CUT and len(best.places) < len(pieces):
                chars = chars * 4 // 5
                shorter = evidence_blocks(pieces, tokens, piece_chars=chars)
                best = max(best, shorter, key=lambda shown: len(shown.places))
            return best

        prompt, shown = self._options.window.fit(prompt_with, shown_within)
        numbers = whole(await self._client.complete(prompt, deadline)).relevant
        order = shown.indices(numbers)
        if numbers and not order:
            raise VlmReplyUnusable("The vision-language model ranked what it was not shown.")
        return order[:most]

    async def answer(
        self, query: Query, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        """Return a short answer from the photo and the evidence, or an honest None (step 3)."""
        name, options = "three_step/answer_briefly", self._options
        limit, evidence = min(ANSWER_TOKENS, generation.answer_tokens), context.evidence
        prompt, shown = options.window.fit(
            lambda shown: text_prompt(name, query, options, limit, evidence=shown.text),
            lambda tokens: evidence_blocks(evidence, tokens),
        )
        reply = await answer_in_text(self._client, prompt, context.evidence, shown.places, deadline)
        return reply or no_answer(context)


async def some_of(works: Mapping[Key, Callable[[], Awaitable[Result]]]) -> dict[Key, Result]:
    """Return the results of all works at once, without those that fail. Raises if all fail."""
    results: dict[Key, Result] = {}
    failures: list[LoreglassError] = []

    async def work(key: Key) -> None:
        try:
            results[key] = await works[key]()
        except LoreglassError as error:
            failures.append(error)

    async with anyio.create_task_group() as group:
        for key in works:
            group.start_soon(work, key)
    if failures and not results:
        raise failures[0]
    return {key: results[key] for key in works if key in results}
