"""The lite reasoner behind the `wiki-prf` pipeline."""

from dataclasses import replace

from chassis.resilience.deadlines import Deadline
from gateway.pipelines.wiki_prf.port import Gathered, PhotoTool, ToolCall, ToolPlan
from gateway.reasoning.lite.blind import BlindReader
from gateway.reasoning.lite.photo import readable
from gateway.reasoning.photo_context import PhotoContext
from gateway.state import Context, Evidence, GenerationBudget, Query, Reply
from language.sentences import sentences
from language.words import content_stems, unique

CAPTION_CHARS = 300
MOST_SENTENCES = 24


class LiteWikiPrf(BlindReader):
    """A `WikiPrfReasoner`: a plan by rule, knowledge by the words of the question."""

    async def plan_tools(self, photo_context: PhotoContext, deadline: Deadline) -> ToolPlan:
        """Grounding of the kind of thing that the question names; a caption of what the photo prints."""
        draft, seen = await self.seen_by_services(photo_context, deadline)
        caption = " ".join(readable(seen.photo_text).plain.split())[:CAPTION_CHARS]
        wanted = ((PhotoTool.GROUNDING, draft.object_label), (PhotoTool.CAPTION, caption))
        return ToolPlan(tuple(ToolCall(tool, content) for tool, content in wanted if content))

    async def describe(self, query: Query, caption: str, deadline: Deadline) -> str:
        """The print with the question: the lite reasoner does not see the photo."""
        return f"{caption} {query.question}"[:CAPTION_CHARS]

    async def filter(self, query: Query, plan: ToolPlan, gathered: Gathered, deadline: Deadline) -> str:
        """The sentences that share most with the question, a line each, in their order."""
        asked = content_stems(query.question)
        found = unique(part.text for item in gathered.evidence for part in sentences(item.text))
        likely = sorted(found, key=lambda text: -len(asked & content_stems(text)))[:MOST_SENTENCES]
        return "\n".join(text for text in found if text in set(likely))

    async def answer(
        self,
        photo_context: PhotoContext,
        knowledge: str | None,
        context: Context,
        generation: GenerationBudget,
        deadline: Deadline,
    ) -> Reply:
        """What the sentences of the knowledge say; all of the evidence where a model has written it anew."""
        kept = frozenset((knowledge or "").splitlines())
        narrowed = tuple(_narrowed(item, kept) for item in context.evidence)
        pieces = narrowed if any(item.text for item in narrowed) else context.evidence
        return await self.answer_with(photo_context, pieces, generation, deadline)


def _narrowed(item: Evidence, kept: frozenset[str]) -> Evidence:
    """The same piece, of which only its kept sentences are left."""
    return replace(item, text="\n".join(part.text for part in sentences(item.text) if part.text in kept))
