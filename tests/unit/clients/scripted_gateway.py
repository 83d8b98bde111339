"""The real gateway over a real socket, with a pipeline that follows a script in place of the services."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import httpx

from chassis.calls import ServiceClient
from chassis.deadlines import Deadline
from chassis.metrics import Metrics
from chassis.serving import BoundApp, listen, running
from gateway.app import create_app
from gateway.budget.admission import Admission, AdmissionLimits
from gateway.budget.course import LOREGLASS
from gateway.budget.estimates import Estimates
from gateway.budget.latencies import load_latencies
from gateway.budget.plan import Plan
from gateway.budget.planner import Planner
from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.pipelines.execution import Execution, Lane, TraceStore
from gateway.sessions.memory import MemorySessionStore
from gateway.sessions.port import SessionLimits
from gateway.settings import GatewaySettings
from gateway.stages.conclusion import Outcome
from gateway.stages.run import Run
from gateway.state import Ask
from gateway.tenants import Keys
from gateway.wiring import Gateway

Script = Callable[[Ask], Outcome]


class ScriptedPipeline:
    """Runs one stage, then says what the script says."""

    course = LOREGLASS

    def __init__(self, script: Script, name: str = "loreglass") -> None:
        self.name = name
        self._script = script
        self.asked: list[Ask] = []

    async def answer(self, ask: Ask, run: Run) -> Outcome:
        """The scripted outcome."""
        self.asked.append(ask)
        return await run.required(Stage.ANSWER, self._work(ask))

    def _work(self, ask: Ask) -> Callable[[Deadline], Awaitable[Outcome]]:
        async def work(_: Deadline) -> Outcome:
            return self._script(ask)

        return work


@asynccontextmanager
async def scripted_gateway(
    pipeline: ScriptedPipeline,
    max_in_flight: int = 16,
    keys: Path | None = None,
    *,
    others: Sequence[ScriptedPipeline] = (),
    experiments: bool = False,
) -> AsyncIterator[str]:
    """The URL of a gateway that is up, and gone afterwards. `keys`: who may ask; everybody without."""

    @asynccontextmanager
    async def wire(settings: GatewaySettings, _: Metrics) -> AsyncIterator[Gateway]:
        async with httpx.AsyncClient() as http:
            nowhere = ServiceClient(http, "nowhere", "http://127.0.0.1:9")
            services = Services(**dict.fromkeys(Services.names(), nowhere))
            sessions = MemorySessionStore(SessionLimits(), max_sessions=50, max_bytes=2**26)
            admission = Admission(AdmissionLimits(max_in_flight, 0))
            planner = Planner(Plan(), Estimates(load_latencies("pocket")))
            execution = Execution(
                {each.name: each for each in (pipeline, *others)},
                sessions,
                TraceStore(50),
                [Lane(admission, planner)],
            )
            checks = {name: partial(services.ready, name) for name in Services.names()}
            yield Gateway(
                execution, services, settings, Keys.load(keys), anyio.CapacityLimiter(1), 0.0, checks
            )
            await sessions.close()

    bound = BoundApp(
        create_app(GatewaySettings(port=0, experiments=experiments), wire), listen("127.0.0.1", 0)
    )
    async with running([bound]):
        yield bound.url
