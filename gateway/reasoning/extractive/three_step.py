"""The `three-step` pipeline without a model: wordings by rule, not by draw, and the reranker's order."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from chassis.deadlines import Deadline
from gateway.reasoning.extractive.drafting import ENTITY
from gateway.reasoning.extractive.lexical import mentions, unique
from gateway.reasoning.extractive.reasoner import ExtractiveReasoner
from gateway.reasoning.extractive.sightings import Looked, look_at
from gateway.reasoning.sighting import Sighting
from gateway.state import Ask, Effort, Evidence, Findings, Reply


class ThreeStepExtractiveReasoner:
    """A `ThreeStepReasoner` so that the pipeline runs in the pocket profile too."""

    sees = False

    def __init__(self, reasoner: ExtractiveReasoner | None = None) -> None:
        self._reasoner = reasoner or ExtractiveReasoner()

    async def sample_queries(self, sighting: Sighting, count: int, deadline: Deadline) -> tuple[str, ...]:
        """The question with the thing's name, the draft's searches, the question itself: always the same."""
        looked = await look_at(self._reasoner, sighting, deadline)
        return tuple(unique(_wordings(sighting.ask, looked))[:count])

    async def rank(
        self, ask: Ask, found: Sequence[Evidence], most: int, deadline: Deadline
    ) -> tuple[int, ...]:
        """The order in hand: the reranker service knows better, and is asked instead."""
        return tuple(range(min(most, len(found))))

    async def answer(
        self, sighting: Sighting, findings: Findings, effort: Effort, deadline: Deadline
    ) -> Reply:
        """What the evidence says, with the photo's own words and the thing that both agree on."""
        looked = await look_at(self._reasoner, sighting, deadline)
        known = replace(findings, entity=looked.entity, photo_text=looked.photo_text)
        return await self._reasoner.answer(sighting.ask, looked.draft, known, effort, deadline)


def _wordings(ask: Ask, looked: Looked) -> Iterator[str]:
    name = looked.entity.name if looked.entity else looked.draft.entity
    if name and not mentions(ask.question, name):
        yield f"{name} {ask.question}"
    for query in looked.draft.sub_queries[:1]:
        if name or ENTITY not in query:
            yield query.replace(ENTITY, name or "").strip()
    yield ask.question
