"""Answers from photo and question alone: the lower ends of QA-Dragon's Table 2 and CRAG-MM's appendix C.1."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chassis.resilience.deadlines import Deadline
from contracts.answer import Route
from gateway.clients.services import Services
from gateway.pipelines.baselines.retrieval import as_answered, read_for_reader
from gateway.planning.prefetch import prefetching
from gateway.planning.run import Run
from gateway.planning.stage_graph import StageGraph
from gateway.planning.stages import Stage
from gateway.reasoning.port import ReadPhoto
from gateway.state import Query, Reply
from gateway.steps.conclusion import Outcome

AnswerAlone = Callable[[Query, ReadPhoto, Deadline], Awaitable[Reply]]
"""A reasoner's way to answer without any search."""


LLM_ONLY = StageGraph("llm-only", ((Stage.ANSWER,), (Stage.SESSION,)), reads=((Stage.ANSWER, 0),))
COT = StageGraph("cot", ((Stage.DRAFT,), (Stage.SESSION,)))
"""There is no OCR stage: a model reads the photo itself, and the fallback has it read beside the answer."""


@dataclass(frozen=True, slots=True)
class ClosedBookPipeline:
    """One call, no search, no verifier: `llm-only` with a plain answer, `cot` with reasons before it.

    Without a model it says what the photo alone says. `fallback` reads when the reasoner's model cannot.
    """

    services: Services
    answer_alone: AnswerAlone
    fallback: AnswerAlone | None = None
    name: str = "llm-only"
    stage_graph: StageGraph = LLM_ONLY
    stage: Stage = Stage.ANSWER

    async def answer(self, query: Query, run: Run) -> Outcome:
        """Answer, and give the answer as it is."""
        async with prefetching() as group:
            read = read_for_reader(group, self.services, query, run, self.fallback)
            async for answer_alone, may_fail, stage in run.attempts(
                self.stage, self.answer_alone, self.fallback
            ):
                async with may_fail, stage as deadline:
                    reply = await answer_alone(query, read.result, deadline)
            outcome = await as_answered(query, reply, Route.DIRECT, (), read, run)
        return outcome
