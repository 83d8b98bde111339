"""The published baselines in front of fake services, with a reader that the test scripts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from chassis.errors import LoreglassError
from chassis.resilience.deadlines import Deadline
from contracts.answer import Experiment
from gateway.clients.services import Services
from gateway.pipelines.baselines.closed_book import ClosedBookPipeline
from gateway.pipelines.baselines.crag_mm import CragMmPipeline
from gateway.pipelines.baselines.direct_rag import DirectRagPipeline
from gateway.pipelines.baselines.retrieved import Retrieved
from gateway.pipelines.experiments import varied
from gateway.pipelines.port import Pipeline
from gateway.planning.explaining import Explaining
from gateway.planning.live_plan import FixedPlan
from gateway.planning.plan import FULL, Plan
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import GenerationBudget, Photo, Query, Quote, Reply, Turn
from gateway.steps.conclusion import Outcome
from gateway.thresholds import RetrievalLimits
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.planning.stage_graphs import COT
from tests.unit.gateway.stepwise import PHOTO, WHO_WROTE, clients_of

SEARCHING = ("direct-rag", "crag-mm-task-1", "crag-mm-task-2", "crag-mm-task-3")
CLOSED = ("llm-only", "cot")


def quote_first(found: Retrieved) -> Reply:
    """Answer with the first piece of evidence."""
    if not found.evidence:
        return Reply(None, 0.0)
    first = found.evidence[0].text
    return Reply(first, 0.9, (Quote(0, first),))


@dataclass
class ScriptedReader:
    """Replies as the test says; `asked` holds (call, query, search results) in order."""

    alone: Reply = field(default_factory=lambda: Reply("It is a book.", 0.7))
    query: str = "who wrote The Salt Road"
    say: Callable[[Retrieved], Reply] = quote_first
    error: LoreglassError | None = None
    asked: list[tuple[str, Query, Retrieved]] = field(default_factory=list)

    def given(self, call: str) -> tuple[Query, Retrieved]:
        """Return the arguments of a call that was made once."""
        ((_, ask, found),) = [each for each in self.asked if each[0] == call]
        return ask, found

    async def answer_alone(self, ask: Query, deadline: Deadline) -> Reply:
        await self._note("answer_alone", ask, Retrieved())
        return self.alone

    async def answer_in_steps(self, ask: Query, deadline: Deadline) -> Reply:
        await self._note("answer_in_steps", ask, Retrieved())
        return self.alone

    async def rewrite_query(self, ask: Query, found: Retrieved, deadline: Deadline) -> str:
        await self._note("rewrite_query", ask, found)
        return self.query

    async def answer_from(
        self, ask: Query, found: Retrieved, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        await self._note("answer_from", ask, found)
        return self.say(found)

    async def _note(self, call: str, ask: Query, found: Retrieved) -> None:
        self.asked.append((call, ask, found))
        if self.error is not None:
            raise self.error


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one question, and its run."""

    outcome: Outcome
    run: Run
    reader: ScriptedReader
    services: FakeServices

    @property
    def stages(self) -> list[str]:
        """The stages in the order in which they ended."""
        return [stage.stage for stage in self.run.stages]


def baseline(name: str, services: Services, reader: ScriptedReader) -> Pipeline:
    """Return the pipeline of that name."""
    if name == "llm-only":
        return ClosedBookPipeline(reader.answer_alone)
    if name == "cot":
        return ClosedBookPipeline(reader.answer_in_steps, name, COT, Stage.DRAFT)
    if name == "direct-rag":
        return DirectRagPipeline(services, reader, RetrievalLimits())
    return CragMmPipeline(services, reader, int(name[-1]))


async def asked(
    name: str,
    reader: ScriptedReader | None = None,
    services: FakeServices | None = None,
    *,
    question: str = WHO_WROTE,
    history: tuple[Turn, ...] = (),
    photo: Photo | None = PHOTO,
    plan: Plan = FULL,
    missing: tuple[str, ...] = (),
    **ask: Any,
) -> Result:
    """Put one question to one baseline."""
    reader, services = reader or ScriptedReader(), services or FakeServices()
    async with clients_of(services) as clients:
        pipeline = varied(baseline(name, clients, reader), Experiment(without=list(missing)))
        run = Run("trace", Deadline.after_ms(30_000), planning=FixedPlan(plan), explain=Explaining())
        outcome = await pipeline.answer(Query(question, photo, history=history, **ask), run)
    return Result(outcome, run, reader, services)
