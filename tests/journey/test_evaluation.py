"""The evaluation's own ways to the platform: a run that is kept, and the agent of the official evaluation."""

import json
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest
from PIL import Image
from typer.testing import CliRunner

from clients.crag_mm import LoreglassAgent
from clients.settings import AgentSettings
from evaluation.cli import app
from evaluation.data.opening import open_dataset
from evaluation.data.world import World
from evaluation.judging.verdicts import Verdict
from evaluation.runs.asking import Asking
from evaluation.runs.running import Task, make_run, reached
from evaluation.runs.store import load_run
from evaluation.runs.tally import Tally
from tests.journey.deployments import Deployment, OneProcess
from tests.unit.clients.starter_kit import kit_run

LEFT_OUT = {
    "qa-dragon-no-verifier": {"verifier", "judge"},
    "three-step-no-text-search": {"query_sampling", "text_search", "listwise_rerank"},
    "three-step-no-image-search-no-text-search": {"image_search", "query_sampling", "text_search"},
}
"""Of systems that a paper's table wants, the stages that must not run."""

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


async def test_a_table_of_each_paper_has_ours_beside_it(
    deployment: Deployment, world_folder: Path, tmp_path: Path
) -> None:
    tables = "qa-dragon-figure-3,blackpearl-5,wiki-prf-10,crag-mm-figure-6"
    told = [str(world_folder), "--out", str(tmp_path), "--tables", tables, "--limit", "2", "--part", "single"]
    asked = partial(CliRunner().invoke, app, ["ablate", *told, "--gateway", deployment.gateway_url])
    result = await anyio.to_thread.run_sync(asked)
    if not isinstance(deployment, OneProcess):  # others may reach it: it takes no experiments, and says so
        assert (result.exit_code, "LOREGLASS_GATEWAY_EXPERIMENTS" in result.output) == (1, True)
        return
    assert result.exit_code == 0, result.output
    values = {each["key"]: each for each in json.loads((tmp_path / "ablation.json").read_text())["tables"]}
    assert list(values) == tables.split(",")
    rows = [row for table in values.values() for each in table["sections"] for row in each["rows"]]
    assert {row["n"] for row in rows if row["system"]} == {2}
    assert all(row["ours"]["Score"]["value"] is not None for row in rows if "three-step" in row["system"])
    runs = {run.header.name: run for run in map(load_run, (tmp_path / "runs").iterdir())}
    for name, stages in LEFT_OUT.items():
        answers = [record.answer for record in runs[name].records if record.answer]
        assert [stage for answer in answers for stage in answer.timings_ms if stage in stages] == [], name


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
