"""What the `three-step` pipeline asks of a reasoner (BlackPearl, arXiv 2507.21520, section 3)."""

from collections.abc import Sequence
from typing import Protocol

from chassis.resilience.deadlines import Deadline
from gateway.reasoning.photo_context import PhotoContext
from gateway.state import Context, Evidence, GenerationBudget, Query, Reply


class ThreeStepReasoner(Protocol):
    """One method a step; each may raise what `chassis.errors` declares, none keeps state between calls."""

    @property
    def sees(self) -> bool:
        """Whether it looks at photos itself, and can rank lists. Who cannot needs OCR, image search and the
        reranker service for that."""
        ...

    async def sample_queries(
        self, photo_context: PhotoContext, count: int, deadline: Deadline
    ) -> tuple[str, ...]:
        """Up to `count` different searches for the same question, each complete in itself (step 1, 3.1)."""
        ...

    async def rank(
        self, query: Query, found: Sequence[Evidence], most: int, deadline: Deadline
    ) -> tuple[int, ...]:
        """Indices of what helps to answer, most relevant first, `most` at most; none if nothing does (3.2).

        Raises where no order can be had.
        """
        ...

    async def answer(
        self, photo_context: PhotoContext, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        """A short answer from the photo and the evidence, or an honest None (step 3)."""
        ...
