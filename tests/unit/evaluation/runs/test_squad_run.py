"""`loreglass eval run squad:FILE`: index, ask, resume and score."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest
from typer.testing import CliRunner, Result

from contracts.answer import Reason, Route
from evaluation.cli import app
from gateway.state import Query
from gateway.steps.conclusion import Outcome, refusal
from services.text_search.app import create_app
from services.text_search.settings import TextSearchSettings
from tests.live import live
from tests.unit.chassis.picture_hosts import picture
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.evaluation.data.small_squad import BELL, FERRY, write_squad

pytestmark = pytest.mark.anyio


def script(ask: Query) -> Outcome:
    """Knows the day and the designer, is wrong about the chain, and sells the bell."""
    said = {
        "opened": "It opened on 12 May 1881.",
        "designed": "Edda Marr",
        "chain": "every year",
        "bought": "A king",
    }
    for word, answer in said.items():
        if word in ask.question:
            return Outcome(answer, Reason.ANSWERED, 0.8, Route.RAG)
    return refusal(Reason.NO_EVIDENCE, Route.RAG)


async def invoke(*arguments: str | Path) -> Result:
    told = ["run", *map(str, arguments)]
    return await anyio.to_thread.run_sync(partial(CliRunner().invoke, app, told, env={"COLUMNS": "120"}))


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
        scripted_gateway(ScriptedPipeline(script), experiments=True) as url,
        live(create_app(settings)) as search,
    ):
        told: Sequence[str | Path] = (
            "--gateway",
            url,
            "--text-search-url",
            str(search.base_url),
            "--photo",
            photo,
        )
        result = await invoke(f"squad:{file}", "--out", tmp_path / "run", *told)
        assert result.exit_code == 0, result.output
        found = await search.post(
            "/v1/text-search", json={"queries": ["Bell of Orrin", "chain ferry"], "k": 9}
        )
        again = await invoke(f"squad:{file}", "--out", tmp_path / "run", *told)
    assert {hit["snippet"] for hit in found.json()["hits"]} >= {BELL, FERRY}
    (row,) = [line.split() for line in result.output.splitlines() if line.startswith("4 + 2")]
    shares = [word for word in row if word not in "4+2%"]
    assert shares[:6] == ["50.0", "25.0", "25.0", "50.0", "33.3", "51.1"]
    assert "0 asked now, 6 in all" in again.output


async def test_an_index_that_is_there_already_is_left_alone(tmp_path: Path, file: Path, photo: Path) -> None:
    async with scripted_gateway(ScriptedPipeline(script)) as url:
        nowhere = ("--text-search-url", "http://127.0.0.1:9", "--gateway", url, "--photo", photo)
        refused = await invoke(f"squad:{file}", "--out", tmp_path / "run", *nowhere)
        asked = await invoke(f"squad:{file}", "--out", tmp_path / "run", *nowhere, "--no-index")
    assert (refused.exit_code, "--no-index goes without" in " ".join(refused.output.split())) == (1, True)
    assert asked.exit_code == 0, asked.output


async def test_nothing_is_indexed_for_a_gateway_that_is_not_there(tmp_path: Path, file: Path) -> None:
    result = await invoke(f"squad:{file}", "--out", tmp_path / "run", "--gateway", "http://127.0.0.1:9")
    assert (result.exit_code, "Start one with: loreglass serve" in result.output) == (1, True)
    assert not (tmp_path / "run").exists()
