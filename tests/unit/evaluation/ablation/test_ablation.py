"""`loreglass eval ablate`: every ablation asked, once, and the papers' tables with ours in them."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest
from typer.testing import CliRunner, Result

from contracts.answer import Reason, Route
from evaluation.ablation.published import PAPER_TABLES, pipelines_for
from evaluation.cli import app
from evaluation.runs.store import load_run
from gateway.pipelines.ablation import ablations
from gateway.stages.conclusion import Outcome, refusal
from gateway.state import Ask
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.evaluation.runs.small_world import PAGES, WHO, script, write_world

pytestmark = pytest.mark.anyio


def ignorant(_: Ask) -> Outcome:
    return refusal(Reason.NO_EVIDENCE, Route.RAG)


async def invoke(pipelines: Sequence[ScriptedPipeline], *arguments: str | Path) -> Result:
    async with scripted_gateway(pipelines[0], others=pipelines[1:], experiments=True) as url:
        told = ["ablate", *map(str, arguments), "--gateway", url]
        return await anyio.to_thread.run_sync(partial(CliRunner().invoke, app, told))


def offered() -> list[ScriptedPipeline]:
    knowing = ["loreglass", "loreglass-no-crops", "qa-dragon", "qa-dragon-no-reranking", "llm-only"]
    return [
        *(ScriptedPipeline(script, name) for name in knowing),
        ScriptedPipeline(ignorant, "loreglass-no-ocr"),
        ScriptedPipeline(script, "qa-dragon-no-tool-router"),
        ScriptedPipeline(script, "of-somebody-else"),
    ]


async def test_every_table_is_written_with_the_papers_figures_and_ours(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO] * 3, [[WHO, PAGES]])
    result = await invoke(offered(), world, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "out" / "ablation.md").read_text()
    for title in ("Table 2", "Table 3", "Table 4", "Loreglass: modules left out"):
        assert title in page
    whole = next(line for line in page.splitlines() if line.startswith("| QA-Dragon | ✓"))
    assert "21.31 | 41.09 | 4.15 | 23.22 | 41.77 | 4.79 | 3 | 100.00 (100.0 to 100.0)" in whole
    assert "cot" in result.output  # named, as it is not on this gateway
    values = json.loads((tmp_path / "out" / "ablation.json").read_text())
    own = {row["pipeline"]: row for row in values["tables"][3]["rows"]}
    assert own["loreglass"]["ours"]["accuracy"]["value"] == 0.8
    assert own["loreglass-no-ocr"]["ours"]["missing"]["value"] == 1
    assert own["loreglass-no-ocr"]["difference"]["value"] == pytest.approx(-0.6)
    assert own["loreglass-no-crops"]["difference"]["value"] == 0
    absent = next(row for row in values["tables"][0]["rows"] if row["pipeline"] == "cot")
    assert absent["ours"] is None
    assert absent["printed"]["Multi-Source"] == {"accuracy": 16.25, "overlap": 20.07, "elapsed_s": 1.78}


async def test_an_ablation_goes_on_where_it_stopped(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO], [])
    arguments = (world, "--out", tmp_path / "out", "--tables", "4")
    first = offered()
    assert (await invoke(first, *arguments)).exit_code == 0
    asked = sorted(each.name for each in first if each.asked)
    assert asked == ["qa-dragon", "qa-dragon-no-reranking", "qa-dragon-no-tool-router"]
    (tmp_path / "out" / "runs" / "qa-dragon" / "turns.jsonl").write_bytes(b"")
    again = offered()
    assert (await invoke(again, *arguments)).exit_code == 0
    assert [each.name for each in again if each.asked] == ["qa-dragon"]
    assert len(load_run(tmp_path / "out" / "runs" / "qa-dragon").records) == 1


async def test_a_model_that_has_not_judged_is_asked_for(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO], [])
    result = await invoke(offered(), world, "--out", tmp_path, "--tables", "own", "--judge", "model:x")
    assert result.exit_code == 1
    assert "eval judge" in result.output


async def test_a_table_that_there_is_not_is_refused(tmp_path: Path) -> None:
    result = await invoke(offered(), tmp_path, "--out", tmp_path / "out", "--tables", "2,5")
    assert result.exit_code == 2
    assert "2, 3, 4, own" in result.output


async def test_where_nothing_can_be_asked_there_is_nothing_to_compare(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO], [])
    result = await invoke([ScriptedPipeline(script, "of-somebody-else")], world, "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "nothing to compare" in result.output


def test_the_papers_rows_name_pipelines_that_there_are() -> None:
    known = {each.name for each in ablations()} | {"llm-only", "cot", "direct-rag"}
    rows = [row.pipeline for table in PAPER_TABLES.values() for row in table.rows if row.pipeline]
    assert set(rows) <= known


def test_each_pipeline_is_asked_once_however_many_tables_it_is_in() -> None:
    names, absent = pipelines_for(("2", "4", "own"), ("llm-only", "loreglass", "loreglass-no-x", "qa-dragon"))
    assert names == ["llm-only", "qa-dragon", "loreglass", "loreglass-no-x"]
    assert "cot" in absent
