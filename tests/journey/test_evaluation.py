"""The evaluation's own ways to the platform: a run that is kept, and the agent of the official evaluation."""

from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest
from PIL import Image

from clients.crag_mm import LoreglassAgent
from clients.settings import AgentSettings
from evaluation.data.opening import open_dataset
from evaluation.data.world import World
from evaluation.judging.port import Verdict
from evaluation.runs.asking import Asking
from evaluation.runs.gateway import reached
from evaluation.runs.running import Task, make_run
from evaluation.runs.tally import Tally
from tests.journey.deployments import Deployment
from tests.unit.clients.starter_kit import kit_run

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_a_run_keeps_answers_traces_and_times(
    deployment: Deployment, world_folder: Path, tmp_path: Path
) -> None:
    dataset = open_dataset(str(world_folder), limit=3)
    task = Task(dataset, tmp_path / "run", Asking(deadline_ms=30_000))
    tally = Tally()
    async with reached(deployment.gateway_url) as gateway:
        made = await make_run(task, gateway, on_record=tally.add)
        again = await make_run(task, gateway)
    assert made.stopped is None
    assert made.run.failures == {}
    assert (made.asked, again.asked) == (task.turns, 0)
    assert made.run.header.explained is not made.refused
    assert all(record.trace and record.client_ms for record in made.run.records)
    assert tally.counts[Verdict.CORRECT] > 0


async def test_the_official_evaluation_gets_an_answer_to_each_query(
    deployment: Deployment, world: World
) -> None:
    talks = [*world.single[:2], world.multi[0]]
    agent = LoreglassAgent(settings=AgentSettings(gateway_url=deployment.gateway_url))
    images = [Image.open(talk.photo) for talk in talks]
    queries = [[turn.question for turn in talk.turns] for talk in talks]
    try:
        said = await anyio.to_thread.run_sync(partial(kit_run, agent, queries, images))
    finally:
        for image in images:
            image.close()
    assert len(said) == sum(len(talk.turns) for talk in talks)
    assert all(said.values())
