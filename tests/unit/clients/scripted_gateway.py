"""The real gateway over a real socket, with a pipeline that follows a script in place of the services."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import anyio

from chassis.http.calls import ServiceClient, http_client
from chassis.images import PhotoDecoders
from chassis.telemetry.metrics import Metrics
from contracts.answer import Experiment
from gateway.app import create_app
from gateway.clients.services import Services
from gateway.pipelines.port import Pipeline, vary
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import load_latencies
from gateway.planning.plan import Plan
from gateway.planning.planner import Planner
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.serving.admission import Admission
from gateway.serving.execution import Execution
from gateway.serving.idempotency import Idempotency
from gateway.serving.quotas import Quotas
from gateway.serving.sessions import Sessions
from gateway.serving.tenants import Keys
from gateway.serving.tiers import Tier
from gateway.serving.traces import Traces
from gateway.serving.voice import NO_VOICE
from gateway.settings import GatewaySettings
from gateway.state import Query
from gateway.steps.conclusion import Outcome
from gateway.store import MemoryStore
from gateway.wiring import Gateway
from tests.live import served
from tests.unit.gateway.planning.stage_graphs import LOREGLASS

Script = Callable[[Query], Outcome]


class ScriptedPipeline:
    """Runs one stage, then says what the script says."""

    stage_graph = LOREGLASS

    def __init__(self, script: Script, name: str = "loreglass") -> None:
        self.name = name
        self._script = script
        self.asked: list[Query] = []

    async def answer(self, ask: Query, run: Run) -> Outcome:
        """The scripted outcome."""
        self.asked.append(ask)
        async with run.stage(Stage.ANSWER):
            return await self.work(ask)

    async def work(self, ask: Query) -> Outcome:
        """The answer stage's."""
        return self._script(ask)


@asynccontextmanager
async def scripted_gateway(
    pipeline: ScriptedPipeline,
    max_in_flight: int = 16,
    keys: Path | None = None,
    *,
    others: Sequence[ScriptedPipeline] = (),
    experiments: bool = False,
    variants: Mapping[str, ScriptedPipeline] | None = None,
) -> AsyncIterator[str]:
    """The URL of a gateway that is up, and gone afterwards. `keys`: who may ask; everybody without.

    `variants`: who answers for a pipeline without a module, as `qa-dragon-no-reranking`.
    """

    def choose(whole: Pipeline, experiment: Experiment | None) -> Pipeline:
        if variants is None or experiment is None or not experiment.without:
            return vary(whole, experiment)
        return variants["-no-".join((whole.name, *experiment.without))]

    @asynccontextmanager
    async def wire(settings: GatewaySettings, _: Metrics) -> AsyncIterator[Gateway]:
        async with http_client() as http, anyio.create_task_group() as going_on:
            nowhere = ServiceClient(http, "nowhere", "http://127.0.0.1:9")
            services = Services(**dict.fromkeys(Services.names(), nowhere))
            admission = Admission(max_in_flight, 0)
            planner = Planner(Plan(), Estimates(load_latencies("pocket")))
            execution = Execution(
                {each.name: each for each in (pipeline, *others)},
                Sessions(MemoryStore(2**26)),
                Traces(50),
                [Tier(admission, planner)],
            )
            checks = {name: partial(services.ready, name) for name in Services.names()}
            photos = PhotoDecoders(1)
            yield Gateway(
                execution=execution,
                idempotency=Idempotency(MemoryStore(), going_on, settings.session_ttl_s),
                services=services,
                settings=settings,
                keys=Keys(keys),
                photos=photos,
                quotas=Quotas(Keys(keys).quota),
                photo_slots=Admission(1, 16),
                voice=NO_VOICE,
                started_at=0.0,
                checks=checks,
            )
            photos.close()
            going_on.cancel_scope.cancel()

    app = create_app(GatewaySettings(port=0, experiments=experiments), wire)
    with patch("gateway.serving.execution.vary", choose):
        async with served(app) as url:
            yield url
