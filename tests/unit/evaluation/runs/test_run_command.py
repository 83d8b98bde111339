"""`loreglass eval run`: output, files and exit status."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest
from typer.testing import CliRunner, Result

from evaluation.cli import app
from evaluation.runs.store import load_run
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.evaluation.runs.small_world import BROKEN, PAGES, SMELL, WHO, script, write_world

NOWHERE = "http://127.0.0.1:9"


async def invoke(arguments: Sequence[str | Path], *, experiments: bool = True) -> Result:
    """The command against a scripted gateway."""
    async with scripted_gateway(ScriptedPipeline(script), experiments=experiments) as url:
        told = [*map(str, arguments), "--gateway", url]
        return await anyio.to_thread.run_sync(partial(CliRunner().invoke, app, told))


@pytest.mark.anyio
async def test_the_command_asks_scores_prints_and_keeps(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO, PAGES, SMELL, BROKEN], [[WHO, PAGES]])
    result = await invoke(["run", world, "--out", tmp_path / "run", "--name", "a [name]"])
    assert result.exit_code == 0, result.output
    for expected in (
        "a [name]",
        "kdd-cup-2025",
        "crag-mm-2026",
        "failed requests: not_ready 1",
        "rows that could not be asked: none",
        "6 asked now, 6 in all",
    ):
        assert expected in result.output
    assert len(load_run(tmp_path / "run").records) == 6


@pytest.mark.anyio
async def test_missing_experiments_are_explained_once(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO, PAGES, SMELL], [])
    result = await invoke(["run", world, "--out", tmp_path / "run"], experiments=False)
    assert result.exit_code == 0
    assert result.output.count("allows no experiments") == 1
    assert "refusal curve" in " ".join(result.output.split())
    made = load_run(tmp_path / "run")
    assert (made.header.explained, made.failures) == (False, {})


@pytest.mark.anyio
async def test_one_part_and_a_few_conversations_can_be_asked(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO] * 5, [[WHO, PAGES]] * 5)
    chosen = ["--part", "multi", "--limit", "2", "--seed", "7", "--deadline-ms", "5000"]
    assert (await invoke(["run", world, "--out", tmp_path / "run", *chosen])).exit_code == 0
    run = load_run(tmp_path / "run")
    assert len(run.records) == 4
    assert (run.header.limit, run.header.seed, run.header.deadline_ms) == (2, 7, 5000)


@pytest.mark.anyio
async def test_where_no_question_is_answered_the_command_fails(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [BROKEN], [])
    result = await invoke(["run", world, "--out", tmp_path / "run"])
    assert result.exit_code == 1
    assert "No question was answered." in result.output


@pytest.mark.anyio
async def test_a_run_takes_the_name_that_it_was_given_last(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO], [])
    for name, expected in (([], "loreglass"), (["--name", "mine"], "mine"), ([], "mine")):
        assert (await invoke(["run", world, "--out", tmp_path / "run", *name])).exit_code == 0
        assert load_run(tmp_path / "run").header.name == expected


@pytest.mark.parametrize("threshold", ["supported", "supported=high", "=0.5"])
def test_a_threshold_that_is_none_is_refused_with_the_usage(tmp_path: Path, threshold: str) -> None:
    told = ["run", str(tmp_path), "--out", str(tmp_path / "run"), "--threshold", threshold]
    result = CliRunner().invoke(app, told)
    assert result.exit_code == 2
    assert "NAME=NUMBER" in result.output


def test_a_folder_without_questions_is_refused_with_the_usage(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    told = ["run", str(tmp_path / "empty"), "--out", str(tmp_path / "run"), "--gateway", NOWHERE]
    result = CliRunner().invoke(app, told)
    assert result.exit_code == 2
    assert "DATASET" in result.output
