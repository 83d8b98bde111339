"""The real gateway over a real socket, with a pipeline that follows a script in place of the services."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from contracts.answer import Experiment
from gateway.app import create_app
from gateway.pipelines.port import Pipeline, vary
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.settings import GatewaySettings
from gateway.state import Query
from gateway.steps.conclusion import Outcome
from tests.live import served
from tests.unit.gateway.fakes import service_settings
from tests.unit.gateway.planning.stage_graphs import LOREGLASS

Script = Callable[[Query], Outcome]


class ScriptedPipeline:
    """Runs one stage, then says what the script says."""

    stage_graph = LOREGLASS

    def __init__(self, script: Script, name: str = "loreglass") -> None:
        self.name = name
        self._script = script
        self.queries: list[Query] = []

    async def answer(self, ask: Query, run: Run) -> Outcome:
        """The scripted outcome."""
        self.queries.append(ask)
        async with run.stage(Stage.ANSWER):
            return await self.work(ask)

    async def work(self, ask: Query) -> Outcome:
        """The answer stage's."""
        return self._script(ask)


@asynccontextmanager
async def scripted_gateway(
    pipeline: ScriptedPipeline,
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

    nowhere: dict[str, Any] = service_settings("http://127.0.0.1:9")
    settings = GatewaySettings(experiments=experiments, keys=keys, max_in_flight=16, max_waiting=0, **nowhere)
    pipelines = {each.name: each for each in (pipeline, *others)}
    with (
        patch("gateway.serving.execution.vary", choose),
        patch("gateway.wiring.every_pipeline", lambda *_: pipelines),
    ):
        async with served(create_app(settings)) as url:
            yield url
