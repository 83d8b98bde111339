"""One question put to one pipeline in front of fake services."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from chassis.http.calls import ServiceClient, http_client
from chassis.resilience.deadlines import Deadline
from contracts.answer import Experiment, Explanation
from gateway.clients.services import Services
from gateway.pipelines.loreglass.pipeline import LoreglassPipeline
from gateway.pipelines.port import Pipeline, vary
from gateway.planning.explaining import Explaining
from gateway.planning.plan import FULL, Plan
from gateway.planning.planner import FixedPlan
from gateway.planning.run import Run
from gateway.state import Photo, Query
from gateway.steps.conclusion import Outcome
from gateway.thresholds import RetrievalLimits, load_thresholds
from tests.live import served
from tests.unit.gateway.fakes import NAMES, FakeServices
from tests.unit.gateway.reasoners import ScriptedReasoner

WHO_WROTE = "Who wrote this?"
PHOTO = Photo(b"whole photo", 320, 240, "digest")
THRESHOLDS = load_thresholds()


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one question, and its run."""

    outcome: Outcome
    run: Run
    services: FakeServices
    reasoner: Any

    @property
    def stages(self) -> list[str]:
        """The stages in the order in which they ended."""
        return [stage.stage for stage in self.run.stages]

    @property
    def explanation(self) -> Explanation:
        """The explanation of the run."""
        explanation = self.run.explain.to_explanation(None)
        assert explanation is not None
        return explanation

    def notes(self, stage: str) -> list[str]:
        """The notes of a stage."""
        return [note.text for note in self.explanation.notes if note.stage == stage]

    def states(self, stage: str) -> list[str]:
        """How a stage ended, each time."""
        return [each.state for each in self.run.stages if each.stage == stage]


@asynccontextmanager
async def clients_of(services: FakeServices) -> AsyncIterator[Services]:
    """Clients of the fake services, on a loopback socket."""
    async with served(services.app()) as url, http_client() as http:
        yield Services(**{name: ServiceClient(http, name, url) for name in NAMES})


async def put(
    pipeline: Callable[[Services, Any], Pipeline],
    reasoner: Any,
    services: FakeServices | None = None,
    *,
    missing: Iterable[str] = (),
    plan: Plan = FULL,
    deadline_ms: float = 30_000,
    question: str = WHO_WROTE,
    photo: Photo | None = PHOTO,
    run: Run | None = None,
    **fields: Any,
) -> Result:
    """Put one question to a pipeline without its modules `missing`, in a run of its own if none is given.

    `fields` are those of `Query`.
    """
    services = services or FakeServices()
    async with clients_of(services) as clients:
        rest = vary(pipeline(clients, reasoner), Experiment(without=list(missing)))
        run = run or Run(
            "trace", Deadline.after_ms(deadline_ms), planning=FixedPlan(plan), explain=Explaining()
        )
        outcome = await rest.answer(Query(question, photo, **fields), run)
    return Result(outcome, run, services, reasoner)


async def loreglass(
    reasoner: ScriptedReasoner | None = None,
    services: FakeServices | None = None,
    fallback: ScriptedReasoner | None = None,
    **more: Any,
) -> Result:
    """Put one question to the default pipeline."""

    def pipeline(clients: Services, reasoner: ScriptedReasoner) -> Pipeline:
        return LoreglassPipeline(clients, reasoner, THRESHOLDS, RetrievalLimits(), fallback=fallback)

    return await put(pipeline, reasoner or ScriptedReasoner(), services, **more)
