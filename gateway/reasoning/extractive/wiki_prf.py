"""The `wiki-prf` pipeline without a model: a plan by rule, knowledge by the words of the question."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import anyio.to_thread

from chassis.deadlines import Deadline
from gateway.reasoning.extractive.lexical import content_stems, sentences
from gateway.reasoning.extractive.photo import tallest_block
from gateway.reasoning.extractive.reasoner import ExtractiveReasoner
from gateway.reasoning.extractive.sightings import Looked, look_at
from gateway.reasoning.sighting import Sighting
from gateway.reasoning.wiki_prf import Gathered, PhotoTool, ToolCall, ToolPlan
from gateway.state import Ask, Effort, Evidence, Findings, Reply

CAPTION_CHARS = 300
MOST_SENTENCES = 24


class WikiPrfExtractiveReasoner:
    """A `WikiPrfReasoner` so that the pipeline runs in the pocket profile too."""

    sees = False

    def __init__(self, reasoner: ExtractiveReasoner | None = None) -> None:
        self._reasoner = reasoner or ExtractiveReasoner()

    async def plan_tools(self, sighting: Sighting, deadline: Deadline) -> ToolPlan:
        """Grounding of the kind of thing that the question names; a caption of what the photo prints."""
        looked = await look_at(self._reasoner, sighting, deadline)
        return ToolPlan(tuple(_calls(looked)))

    async def describe(self, ask: Ask, caption: str, deadline: Deadline) -> str:
        """The print with the question: who cannot see has no better description."""
        return f"{caption} {ask.question}"[:CAPTION_CHARS]

    async def filter(self, ask: Ask, gathered: Gathered, deadline: Deadline) -> str:
        """The sentences that share most with the question, a line each, in their order."""
        return await anyio.to_thread.run_sync(_fitting, ask, gathered.evidence, abandon_on_cancel=True)

    async def answer(
        self,
        sighting: Sighting,
        knowledge: str | None,
        findings: Findings,
        effort: Effort,
        deadline: Deadline,
    ) -> Reply:
        """What the sentences of the knowledge say; all of the evidence where a model has written it anew."""
        looked = await look_at(self._reasoner, sighting, deadline)
        kept = tuple(_narrowed(findings.evidence, frozenset((knowledge or "").splitlines())))
        known = replace(
            findings,
            entity=looked.entity,
            photo_text=looked.photo_text,
            evidence=kept if any(item.text for item in kept) else findings.evidence,
        )
        return await self._reasoner.answer(sighting.ask, looked.draft, known, effort, deadline)


def _calls(looked: Looked) -> Iterator[ToolCall]:
    if looked.draft.object_label:
        yield ToolCall(PhotoTool.GROUNDING, looked.draft.object_label)
    printed = " ".join(line.text for line in tallest_block(looked.photo_text))[:CAPTION_CHARS]
    if printed:
        yield ToolCall(PhotoTool.CAPTION, printed)


def _fitting(ask: Ask, evidence: Sequence[Evidence]) -> str:
    """Sentences with a word of the question, those with most of them first in line for a place."""
    asked = content_stems(ask.question)
    found: dict[str, int] = {}
    for item in evidence:
        for sentence in sentences(item.text):
            found.setdefault(sentence.text, len(asked & content_stems(sentence.text)))
    likely = sorted(found, key=lambda text: -found[text])[:MOST_SENTENCES]
    return "\n".join(text for text in found if text in set(likely))


def _narrowed(evidence: Sequence[Evidence], kept: frozenset[str]) -> Iterator[Evidence]:
    """The same pieces at the same places, of each only its kept sentences."""
    for item in evidence:
        texts = [sentence.text for sentence in sentences(item.text) if sentence.text in kept]
        yield replace(item, text="\n".join(texts))
