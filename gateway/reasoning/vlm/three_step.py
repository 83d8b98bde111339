"""The VLM behind the `three-step` pipeline (BlackPearl, arXiv 2507.21520, section 3; words are ours)."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import anyio
import anyio.to_thread
from pydantic import BeforeValidator, Field

from chassis.deadlines import Deadline
from chassis.errors import LoreglassError
from gateway.reasoning.sighting import Sighting
from gateway.reasoning.vlm.asking import prompt_of
from gateway.reasoning.vlm.cleaning import ENTITY_SLOT, queries
from gateway.reasoning.vlm.client import VlmClient
from gateway.reasoning.vlm.completion import Written
from gateway.reasoning.vlm.failures import VlmDeclined, VlmReplyUnusable
from gateway.reasoning.vlm.fencing import Budget, Exhibit, exhibit
from gateway.reasoning.vlm.options import VlmOptions
from gateway.reasoning.vlm.prompt import Prompt
from gateway.reasoning.vlm.reading import no_answer, whole
from gateway.reasoning.vlm.schemas import Query, Structured
from gateway.reasoning.vlm.text import budget_for, reply_of_text, text_prompt, within_context
from gateway.state import Ask, Effort, Evidence, Findings, Reply

TEMPERATURE = 0.8
ANSWER_TOKENS = 75
"""Both are the paper's (4.1)."""
QUERY_TOKENS, RANK_TOKENS = 64, 96
MOST_NUMBERS = 10

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

    query: Query = Field(description="one search phrase, complete in itself")


class Ranking(Structured):
    """Step 2: the list. A reply without one is none."""

    relevant: Annotated[list[int], BeforeValidator(_numbers), Field(max_length=MOST_NUMBERS)] = Field(
        description="numbers of the pieces that help, the most helpful first, at most ten; [] for none"
    )


class ThreeStepVlmReasoner:
    """A `ThreeStepReasoner`: so many calls at once for the queries, one for the list, one for the answer."""

    sees = True

    def __init__(self, client: VlmClient, options: VlmOptions = _DEFAULTS) -> None:
        self._client = client
        self._options = options

    async def sample_queries(self, sighting: Sighting, count: int, deadline: Deadline) -> tuple[str, ...]:
        """See the port. A draw that fails costs that draw; raises if all do."""
        base = prompt_of("sample_query", sighting.ask, SearchPhrase, self._options, QUERY_TOKENS)
        drawn: dict[int, str] = {}
        failures: list[LoreglassError] = []

        async def draw(seed: int) -> None:
            prompt: Prompt[SearchPhrase] = replace(base, temperature=TEMPERATURE, seed=seed)
            try:
                drawn[seed] = whole(await self._client.complete(prompt, deadline)).query
            except LoreglassError as error:
                failures.append(error)

        async with anyio.create_task_group() as group:
            for seed in range(1, count + 1):
                group.start_soon(draw, seed)
        if failures and not drawn:
            raise failures[0]
        return queries((drawn[seed].replace(ENTITY_SLOT, " ") for seed in sorted(drawn)), count)

    async def rank(
        self, ask: Ask, found: Sequence[Evidence], most: int, deadline: Deadline
    ) -> tuple[int, ...]:
        """See the port. Numbers of no piece and repeats are dropped; if nothing is left, it is unreadable."""
        if not found:
            return ()

        async def ranked(budget: Budget) -> tuple[int, ...]:
            shown = exhibit(found, budget)
            prompt = prompt_of("rank_evidence", ask, Ranking, self._options, RANK_TOKENS, evidence=shown.text)
            numbers = whole(await self._client.complete(prompt, deadline)).relevant
            order = shown.indices(numbers)
            if numbers and not order:
                raise VlmReplyUnusable("The vision-language model ranked what it was not shown.")
            return order[:most]

        return await within_context(ranked, budget_for(found))

    async def answer(
        self, sighting: Sighting, findings: Findings, effort: Effort, deadline: Deadline
    ) -> Reply:
        """See the port."""
        limit = min(ANSWER_TOKENS, effort.answer_tokens)

        async def written(budget: Budget) -> tuple[Written, Exhibit]:
            shown = exhibit(findings.evidence, budget)
            prompt = text_prompt("answer_briefly", sighting.ask, self._options, limit, evidence=shown.text)
            return await self._client.write(prompt, deadline), shown

        try:
            said, shown = await within_context(written, budget_for(findings.evidence))
        except VlmDeclined:
            return no_answer(findings)
        return await anyio.to_thread.run_sync(  # finding the quotes takes tens of milliseconds
            reply_of_text, said, findings, shown.places, self._options, abandon_on_cancel=True
        )
