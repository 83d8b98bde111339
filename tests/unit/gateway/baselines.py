"""The published baselines in front of fake services, with a reader that the test scripts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from chassis.errors import LoreglassError
from chassis.resilience.deadlines import Deadline
from gateway.clients.services import Services
from gateway.pipelines.baselines.pipeline import ClosedBookPipeline, CragMmPipeline, DirectRagPipeline
from gateway.pipelines.baselines.retrieval import Findings
from gateway.pipelines.port import Pipeline
from gateway.planning.stages import Stage
from gateway.state import GenerationBudget, Query, Quote, Reply
from gateway.thresholds import RetrievalLimits
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.pipelines import Result, put
from tests.unit.gateway.planning.stage_graphs import COT

SEARCHING = ("direct-rag", "crag-mm-task-1", "crag-mm-task-2", "crag-mm-task-3")
CLOSED = ("llm-only", "cot")


def quote_first(results: Findings) -> Reply:
    """Answer with the first piece of evidence."""
    if not results.evidence:
        return Reply(None, 0.0)
    first = results.evidence[0].text
    return Reply(first, 0.9, (Quote(0, first),))


@dataclass
class ScriptedReader:
    """Replies as the test says; `calls` holds (call, query, search results) in order."""

    alone: Reply = field(default_factory=lambda: Reply("It is a book.", 0.7))
    rewritten: str = "who wrote The Salt Road"
    say: Callable[[Findings], Reply] = quote_first
    error: LoreglassError | None = None
    calls: list[tuple[str, Query, Findings]] = field(default_factory=list)

    def results(self, call: str) -> Findings:
        """Return the search results of a call that was made once."""
        (results,) = [results for name, _, results in self.calls if name == call]
        return results

    async def answer_alone(self, query: Query, deadline: Deadline) -> Reply:
        await self._note("answer_alone", query, Findings())
        return self.alone

    async def answer_in_steps(self, query: Query, deadline: Deadline) -> Reply:
        await self._note("answer_in_steps", query, Findings())
        return self.alone

    async def rewrite_query(self, query: Query, results: Findings, deadline: Deadline) -> str:
        await self._note("rewrite_query", query, results)
        return self.rewritten

    async def answer_from(
        self, query: Query, results: Findings, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        await self._note("answer_from", query, results)
        return self.say(results)

    async def _note(self, call: str, query: Query, results: Findings) -> None:
        self.calls.append((call, query, results))
        if self.error is not None:
            raise self.error


def baseline(name: str, services: Services, reader: ScriptedReader) -> Pipeline:
    """Return the pipeline of that name."""
    if name == "llm-only":
        return ClosedBookPipeline(reader.answer_alone)
    if name == "cot":
        return ClosedBookPipeline(reader.answer_in_steps, name, COT, Stage.DRAFT)
    if name == "direct-rag":
        return DirectRagPipeline(services, reader, RetrievalLimits())
    return CragMmPipeline(services, reader, int(name[-1]))


async def put_baseline(
    name: str, reader: ScriptedReader | None = None, services: FakeServices | None = None, **more: Any
) -> Result:
    """Put one question to one baseline."""
    return await put(partial(baseline, name), reader or ScriptedReader(), services, **more)
