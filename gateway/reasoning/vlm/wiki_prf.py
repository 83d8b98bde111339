"""The VLM behind the `wiki-prf` pipeline (Wiki-PRF, section 3 and appendices A and B; words are ours)."""

import anyio.to_thread

from chassis.deadlines import Deadline
from gateway.reasoning.sighting import Sighting
from gateway.reasoning.vlm.cleaning import one_line, without_thoughts
from gateway.reasoning.vlm.client import VlmClient
from gateway.reasoning.vlm.completion import Written
from gateway.reasoning.vlm.failures import VlmDeclined, VlmReplyUnusable
from gateway.reasoning.vlm.fencing import Budget, exhibit, fenced
from gateway.reasoning.vlm.options import VlmOptions
from gateway.reasoning.vlm.reading import no_answer
from gateway.reasoning.vlm.tags import read_plan, tagged
from gateway.reasoning.vlm.text import budget_for, reply_of_text, text_prompt, within_context
from gateway.reasoning.wiki_prf import Gathered, ToolPlan
from gateway.state import Ask, Effort, Evidence, Findings, Reply

PLAN_TOKENS, CAPTION_TOKENS, FILTER_TOKENS, ANSWER_TOKENS = 320, 128, 448, 96
DESCRIPTION_CHARS = 400
"""Of a description, at most, to search by."""
KNOWLEDGE_CHARS = 4_000

_DEFAULTS = VlmOptions()


class WikiPrfVlmReasoner:
    """A `WikiPrfReasoner`: one call for the plan, one for each caption, one to filter, one to answer."""

    sees = True

    def __init__(self, client: VlmClient, options: VlmOptions = _DEFAULTS) -> None:
        self._client = client
        self._options = options

    async def plan_tools(self, sighting: Sighting, deadline: Deadline) -> ToolPlan:
        """See the port. Raises `VlmReplyUnusable` for a plan that cannot be read."""
        prompt = text_prompt("plan_tools", sighting.ask, self._options, PLAN_TOKENS, "</tool>")
        plan = read_plan((await self._client.write(prompt, deadline)).text)
        if plan is None:
            raise VlmReplyUnusable("The vision-language model's plan could not be read.")
        return plan

    async def describe(self, ask: Ask, caption: str, deadline: Deadline) -> str:
        """See the port."""
        draft = fenced("caption", caption)
        prompt = text_prompt("describe_photo", ask, self._options, CAPTION_TOKENS, caption=draft)
        description = one_line(without_thoughts((await self._client.write(prompt, deadline)).text))
        if not any(character.isalnum() for character in description):
            raise VlmReplyUnusable("The vision-language model's description says nothing.")
        if len(description) <= DESCRIPTION_CHARS:
            return description
        return description[: DESCRIPTION_CHARS + 1].rpartition(" ")[0] or description[:DESCRIPTION_CHARS]

    async def filter(self, ask: Ask, gathered: Gathered, deadline: Deadline) -> str:
        """See the port. Raises `VlmReplyUnusable` for a reply that does not keep to its tags."""

        async def reduced(budget: Budget) -> Written:
            prompt = text_prompt(
                "filter_knowledge",
                ask,
                self._options,
                FILTER_TOKENS,
                "</answer>",
                document=exhibit(gathered.document, budget).text,
                sections=exhibit(gathered.sections, budget).text,
            )
            return await self._client.write(prompt, deadline)

        larger = max((gathered.document, gathered.sections), key=_chars)
        knowledge = tagged((await within_context(reduced, budget_for(larger))).text, "answer")
        if knowledge is None:
            raise VlmReplyUnusable("The vision-language model's filtered knowledge could not be read.")
        return knowledge[:KNOWLEDGE_CHARS]

    async def answer(
        self,
        sighting: Sighting,
        knowledge: str | None,
        findings: Findings,
        effort: Effort,
        deadline: Deadline,
    ) -> Reply:
        """See the port. Quotes are of what was retrieved, never of the knowledge's own words."""
        limit = min(ANSWER_TOKENS, effort.answer_tokens)

        async def written(budget: Budget) -> Written:
            known = _as_shown(knowledge, findings.evidence, budget)
            prompt = text_prompt("answer_from_knowledge", sighting.ask, self._options, limit, knowledge=known)
            return await self._client.write(prompt, deadline)

        try:
            said = await within_context(written, budget_for(findings.evidence))
        except VlmDeclined:
            return no_answer(findings)
        every = range(len(findings.evidence))
        return await anyio.to_thread.run_sync(  # finding the quotes takes tens of milliseconds
            reply_of_text, said, findings, every, self._options, abandon_on_cancel=True
        )


def _as_shown(knowledge: str | None, evidence: tuple[Evidence, ...], budget: Budget) -> str:
    return exhibit(evidence, budget).text if knowledge is None else fenced("knowledge", knowledge)


def _chars(pieces: tuple[Evidence, ...]) -> int:
    return sum(len(piece.text) for piece in pieces)
