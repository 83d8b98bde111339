"""`loreglass eval run`: output, files and exit status."""

from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest
from typer.testing import CliRunner, Result

from contracts.answer import Reason, Route
from evaluation.cli import app
from evaluation.runs.store import load_run
from gateway.state import Query
from gateway.steps.conclusion import Outcome, refusal
from services.text_search.app import create_app
from services.text_search.settings import TextSearchSettings
from tests.live import live
from tests.unit.chassis.picture_hosts import picture
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.evaluation.data.small_squad import BELL, FERRY, write_squad
from tests.unit.evaluation.runs.small_world import BROKEN, PAGES, SMELL, WHO, script, write_world

NOWHERE = "http://127.0.0.1:9"


def squad_script(ask: Query) -> Outcome:
    """Knows the day and the designer, is wrong about the chain, and sells the bell."""
    day, by, often, buyer = "It opened on 12 May 1881.", "Edda Marr", "every year", "A king"
    for word, answer in {"opened": day, "designed": by, "chain": often, "bought": buyer}.items():
        if word in ask.question:
            return Outcome(answer, Reason.ANSWERED, 0.8, Route.RAG)
    return refusal(Reason.NO_EVIDENCE, Route.RAG)


async def typed(*arguments: str | Path) -> Result:
    options = ["run", *map(str, arguments)]
    return await anyio.to_thread.run_sync(partial(CliRunner().invoke, app, options, env={"COLUMNS": "120"}))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_squad(tmp_path / "few.json")


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "street.jpg"
    path.write_bytes(picture())
    return path


async def test_squad_run_indexes_asks_and_prints(tmp_path: Path, file: Path, photo: Path) -> None:
    settings = TextSearchSettings(port=0, data_dir=tmp_path / "vectors")
    async with (
        scripted_gateway(ScriptedPipeline(squad_script), experiments=True) as url,
        live(create_app(settings)) as search,
    ):
        options = ("--gateway", url, "--text-search-url", str(search.base_url), "--photo", photo)
        result = await typed(f"squad:{file}", "--out", tmp_path / "run", *options)
        assert result.exit_code == 0, result.output
        queries = {"queries": ["Bell of Orrin", "chain ferry"], "k": 9}
        reply = await search.post("/v1/text-search", json=queries)
        again = await typed(f"squad:{file}", "--out", tmp_path / "run", *options)
    assert {hit["snippet"] for hit in reply.json()["hits"]} >= {BELL, FERRY}
    (row,) = [line.split() for line in result.output.splitlines() if line.startswith("4 + 2")]
    shares = [word for word in row if word not in "4+2%"]
    assert shares[:6] == ["50.0", "25.0", "25.0", "50.0", "33.3", "51.1"]
    assert "0 asked now, 6 in all" in again.output


async def test_no_index_option_skips_indexing(tmp_path: Path, file: Path, photo: Path) -> None:
    async with scripted_gateway(ScriptedPipeline(squad_script)) as url:
        nowhere = ("--text-search-url", NOWHERE, "--gateway", url, "--photo", photo)
        refused = await typed(f"squad:{file}", "--out", tmp_path / "run", *nowhere)
        result = await typed(f"squad:{file}", "--out", tmp_path / "run", *nowhere, "--no-index")
    assert (refused.exit_code, "--no-index goes without" in " ".join(refused.output.split())) == (1, True)
    assert result.exit_code == 0, result.output


async def test_unreachable_gateway_stops_before_indexing(tmp_path: Path, file: Path) -> None:
    result = await typed(f"squad:{file}", "--out", tmp_path / "run", "--gateway", NOWHERE)
    assert (result.exit_code, "Start one with: loreglass serve" in result.output) == (1, True)
    assert not (tmp_path / "run").exists()


async def invoke(*arguments: str | Path, experiments: bool = True) -> Result:
    async with scripted_gateway(ScriptedPipeline(script), experiments=experiments) as url:
        return await typed(*arguments, "--gateway", url)


async def test_run_command_asks_scores_prints_and_stores(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO, PAGES, SMELL, BROKEN], [[WHO, PAGES]])
    result = await invoke(world, "--out", tmp_path / "run", "--name", "a [name]")
    assert result.exit_code == 0, result.output
    counted = ("failed requests: not_ready 1", "rows that could not be asked: none", "6 asked now, 6 in all")
    for expected in ("a [name]", "kdd-cup-2025", "crag-mm-2026", *counted):
        assert expected in result.output
    assert len(load_run(tmp_path / "run").records) == 6


async def test_missing_experiments_are_explained_once(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO, PAGES, SMELL], [])
    result = await invoke(world, "--out", tmp_path / "run", experiments=False)
    assert result.exit_code == 0
    assert result.output.count("allows no experiments") == 1
    assert "refusal curve" in " ".join(result.output.split())
    made = load_run(tmp_path / "run")
    assert (made.header.explained, made.failures) == (False, {})


async def test_limited_run_resumes_under_its_latest_name(
    tmp_path: Path,
) -> None:
    world = write_world(tmp_path / "world", [WHO] * 5, [[WHO, PAGES]] * 5)
    chosen = ["--part", "multi", "--limit", "2", "--seed", "7", "--deadline-ms", "5000"]
    for name, expected in (([], "loreglass"), (["--name", "mine"], "mine"), ([], "mine")):
        assert (await invoke(world, "--out", tmp_path / "run", *chosen, *name)).exit_code == 0
        run = load_run(tmp_path / "run")
        assert run.header.name == expected
    assert len(run.records) == 4
    assert (run.header.limit, run.header.seed, run.header.deadline_ms) == (2, 7, 5000)


async def test_command_fails_if_no_question_is_answered(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [BROKEN], [])
    result = await invoke(world, "--out", tmp_path / "run")
    assert result.exit_code == 1
    assert "No question was answered." in result.output


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--threshold", "supported=high"], "NAME=NUMBER"),
        (["--threshold", "=0.5"], "NAME=NUMBER"),
        ([], "DATASET"),
    ],
)
async def test_invalid_threshold_or_folder_is_refused_with_usage(
    tmp_path: Path, options: list[str], named: str
) -> None:
    result = await typed(tmp_path, "--out", tmp_path / "run", "--gateway", NOWHERE, *options)
    assert (result.exit_code, named in result.output) == (2, True)
