"""Answers from photo and question alone: the lower ends of QA-Dragon's Table 2 and CRAG-MM's appendix C.1."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chassis.resilience.deadlines import Deadline
from contracts.answer import Route
from gateway.planning.run import Run
from gateway.planning.stage_graph import StageGraph
from gateway.planning.stages import Stage
from gateway.state import Context, Query, Reply
from gateway.steps.conclusion import Outcome, answered

AnswerAlone = Callable[[Query, Deadline], Awaitable[Reply]]
"""A model's way to answer without any search."""

LLM_ONLY = StageGraph(
    "llm-only", ((Stage.ANSWER,), (Stage.SESSION,)), reads=((Stage.ANSWER, 0),), needs_model=True
)
COT = StageGraph("cot", ((Stage.DRAFT,), (Stage.SESSION,)), needs_model=True)


@dataclass(frozen=True, slots=True)
class ClosedBookPipeline:
    """One call, no search, no verifier: `llm-only` with a plain answer, `cot` with reasons before it."""

    answer_alone: AnswerAlone
    name: str = "llm-only"
    stage_graph: StageGraph = LLM_ONLY
    stage: Stage = Stage.ANSWER

    async def answer(self, query: Query, run: Run) -> Outcome:
        """Answer, and give the answer as it is."""
        async with run.required(self.stage) as deadline:
            reply = await self.answer_alone(query, deadline)
        return answered(query.question, reply, Context(Route.DIRECT), None, run.failures, run.explain)
