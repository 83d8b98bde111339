"""`direct-rag` with one source: the column "Single-Source" of QA-Dragon's Table 2."""

from dataclasses import dataclass, fields

from gateway.pipelines.baselines.direct_rag import DirectRagPipeline
from gateway.planning.run import Run
from gateway.state import Evidence, Query

MODULES = frozenset({"text-search"})
"""Without `text-search`: what image search finds is all there is."""


@dataclass(frozen=True)
class AblatedDirectRag(DirectRagPipeline):
    """The baseline without text search."""

    async def _find_pages(self, query: Query, run: Run) -> tuple[Evidence, ...]:
        return ()


def without(pipeline: DirectRagPipeline, missing: frozenset[str]) -> DirectRagPipeline:
    """The same pipeline without these of `MODULES`."""
    parts = {part.name: getattr(pipeline, part.name) for part in fields(pipeline)}
    return AblatedDirectRag(**parts) if missing else pipeline
