"""The VLM behind the `wiki-prf` pipeline (Wiki-PRF, section 3 and appendices A and B; words are ours)."""

import re
from dataclasses import replace

from chassis.resilience.deadlines import Deadline
from gateway.llm.asking import earlier_call, text_prompt
from gateway.llm.delimiting import evidence_blocks, fence, harmless, within_tokens
from gateway.llm.prompt import Prompt, VlmOptions
from gateway.llm.reading import no_answer, whole_words, without_thoughts
from gateway.llm.reasoner import Model, answer_in_text
from gateway.llm.server import VlmReplyUnusable
from gateway.pipelines.wiki_prf.tool_plan import Material, ToolPlan, read_knowledge, read_plan
from gateway.reasoning.pieces import one_line
from gateway.state import Context, Evidence, GenerationBudget, Query, Reply

PLAN_TOKENS, CAPTION_TOKENS, FILTER_TOKENS, ANSWER_TOKENS = 320, 128, 448, 96
SHOWN_PLAN_TOKENS = 3 * PLAN_TOKENS
"""Of the plan, by `tokens_at_most`, which counts English at up to three times its tokens."""
DESCRIPTION_CHARS = 400
"""Of a description, at most, to search by."""
KNOWLEDGE_CHARS = 4_000

_DEFAULTS = VlmOptions()
_TAGS = re.compile(r"(</?(?:think|tool)>)")


class WikiPrfVlmReasoner:
    """One call for the plan, one for each caption, one to filter, one to answer.

    Each method may raise what `chassis.errors` declares; none keeps state between calls.
    """

    def __init__(self, client: Model, options: VlmOptions = _DEFAULTS) -> None:
        self._client = client
        self._options = options

    async def plan_tools(self, query: Query, deadline: Deadline) -> ToolPlan:
        """Return which tools, in which order (processing, 3.2).

        Raises `VlmReplyUnusable` for a plan that cannot be read.
        """
        written = await self._client.complete(plan_prompt(query, self._options), deadline)
        whole_lines = written.text.rpartition("\n")[0] if written.cut_off else written.text
        plan = read_plan(whole_lines)
        if plan is None:
            raise VlmReplyUnusable("The vision-language model's plan could not be read.")
        return replace(plan, written=_harmless(written.text))

    async def describe(self, query: Query, caption: str, deadline: Deadline) -> str:
        """Return the description to search by, from the plan's first caption and the question (eq. 1)."""
        draft = fence("caption", caption)
        prompt = text_prompt("wiki_prf/describe_photo", query, self._options, CAPTION_TOKENS, caption=draft)
        completion = await self._client.complete(prompt, deadline)
        description = one_line(without_thoughts(completion.text))
        if not any(character.isalnum() for character in description):
            raise VlmReplyUnusable("The vision-language model's description says nothing.")
        return whole_words(description, DESCRIPTION_CHARS)

    async def filter(self, query: Query, plan: ToolPlan, gathered: Material, deadline: Deadline) -> str:
        """Return task-oriented knowledge: what of it all serves the question (filtering, 3.4, eq. 8).

        `plan`: what led to it (eq. 10: each token is conditioned on those before it, the plan's too). Raises
        `VlmReplyUnusable` for a reply without its tags.
        """
        planned = within_tokens(plan.written, SHOWN_PLAN_TOKENS)
        earlier = earlier_call(plan_prompt(query, self._options), planned) if planned else None

        def prompt_with(shown: tuple[str, str]) -> Prompt[str]:
            name, slots = "wiki_prf/filter_knowledge", {"document": shown[0], "sections": shown[1]}
            return text_prompt(name, query, self._options, FILTER_TOKENS, "</answer>", earlier, **slots)

        def shown_within(tokens: int) -> tuple[str, str]:
            return _shown(gathered.document, tokens // 2), _shown(gathered.sections, tokens // 2)

        prompt, _ = self._options.window.fit(prompt_with, shown_within)
        knowledge = read_knowledge((await self._client.complete(prompt, deadline)).text)
        if knowledge is None:
            raise VlmReplyUnusable("The vision-language model's filtered knowledge could not be read.")
        return knowledge[:KNOWLEDGE_CHARS]

    async def answer(
        self,
        query: Query,
        knowledge: str | None,
        context: Context,
        generation: GenerationBudget,
        deadline: Deadline,
        *,
        short: bool = False,
    ) -> Reply:
        """Return a short answer from the photo and the knowledge (eq. 9); None: the evidence itself is it.

        `short`: a name, a number or a phrase in any case, as the benchmarks' scores want it.

        Quotes are of what was retrieved, never of the knowledge's own words.
        """
        limit, options = min(ANSWER_TOKENS, generation.answer_tokens), self._options
        name = "wiki_prf/answer_in_short" if short else "wiki_prf/answer_from_knowledge"

        def shown_within(tokens: int) -> str:
            if knowledge is None:
                return _shown(context.evidence, tokens)
            return fence("knowledge", knowledge, tokens)

        prompt, _ = options.window.fit(
            lambda shown: text_prompt(name, query, options, limit, knowledge=shown), shown_within
        )
        every = range(len(context.evidence))
        reply = await answer_in_text(self._client, prompt, context.evidence, every, deadline)
        return reply or no_answer(context)


def plan_prompt(query: Query, options: VlmOptions) -> Prompt[str]:
    """Return what a chat of this pipeline begins with: the tool plan (3.2)."""
    return text_prompt("wiki_prf/plan_tools", query, options, PLAN_TOKENS, "</tool>")


def _harmless(written: str) -> str:
    """Return the model's words to be shown to it again: of tags only those of the plan's form are left."""
    return "".join(
        piece if _TAGS.fullmatch(piece) else harmless(piece) for piece in _TAGS.split(written) if piece
    )


def _shown(evidence: tuple[Evidence, ...], tokens: int) -> str:
    return evidence_blocks(evidence, tokens).text
