"""Answers from photo and question alone: the lower ends of QA-Dragon's Table 2 and CRAG-MM's appendix C.1."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chassis.deadlines import Deadline
from contracts.answer import Route
from gateway.budget.course import LLM_ONLY, Course
from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.reasoning.port import ReadPhoto
from gateway.stages.conclusion import Outcome
from gateway.stages.retrieval import as_answered, read_for_reader
from gateway.stages.run import Run, side_by_side
from gateway.state import Ask, Reply

AnswerAlone = Callable[[Ask, ReadPhoto, Deadline], Awaitable[Reply]]
"""A reasoner's way to answer without any search."""


@dataclass(frozen=True, slots=True)
class ClosedBookPipeline:
    """One call, no search, no verifier: `llm-only` with a plain answer, `cot` with reasons before it.

    Without a model it says what the photo alone says. `resort` reads when the reasoner's model cannot.
    """

    services: Services
    answer_alone: AnswerAlone
    resort: AnswerAlone | None = None
    name: str = "llm-only"
    course: Course = LLM_ONLY
    stage: Stage = Stage.ANSWER

    async def answer(self, ask: Ask, run: Run) -> Outcome:
        """Answer, and give the answer as it is."""
        async with side_by_side() as group:
            read = read_for_reader(group, self.services, ask, run, self.resort)
            reply = await run.or_resort(self.stage, self.answer_alone, self.resort, ask, read.result)
            outcome = await as_answered(reply, Route.DIRECT, (), read, run)
        return outcome
