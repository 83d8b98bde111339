"""`loreglass eval ablate`: every ablation asked, once, and the papers' tables with ours in them."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest
from typer.testing import CliRunner, Result

from contracts.answer import Reason, Route
from evaluation.ablation.published import OWN_MODULES, PAPER_TABLES, systems_for
from evaluation.cli import app
from evaluation.runs.store import load_run
from evaluation.runs.systems import System
from gateway.pipelines.loreglass import ablation as loreglass
from gateway.pipelines.qa_dragon import ablation as qa_dragon
from gateway.state import Query
from gateway.steps.conclusion import Outcome, refusal
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.evaluation.runs.small_world import PAGES, WHO, script, write_world

pytestmark = pytest.mark.anyio


def ignorant(_: Query) -> Outcome:
    return refusal(Reason.NO_EVIDENCE, Route.RAG)


async def invoke(systems: Mapping[str, ScriptedPipeline], *arguments: str | Path) -> Result:
    first, *others = (each for name, each in systems.items() if name == each.name)
    async with scripted_gateway(first, others=others, experiments=True, variants=systems) as url:
        told = ["ablate", *map(str, arguments), "--gateway", url]
        return await anyio.to_thread.run_sync(partial(CliRunner().invoke, app, told))


def offered() -> dict[str, ScriptedPipeline]:
    """Pipelines by their names, and who answers for them without a module."""
    whole = ["loreglass", "qa-dragon", "llm-only", "of-somebody-else"]
    without = [name for name in systems_for(("2", "3", "4", "own"), ("loreglass", "qa-dragon"))[0]]
    systems = {name: ScriptedPipeline(script, System.named(name).pipeline) for name in (*whole, *without)}
    return systems | {"loreglass-no-ocr": ScriptedPipeline(ignorant, "loreglass")}


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
    asked = sorted(name for name, each in first.items() if each.asked)
    assert asked == sorted(row.pipeline or "" for row in PAPER_TABLES["4"].rows)
    (tmp_path / "out" / "runs" / "qa-dragon" / "turns.jsonl").write_bytes(b"")
    again = offered()
    assert (await invoke(again, *arguments)).exit_code == 0
    assert [name for name, each in again.items() if each.asked] == ["qa-dragon"]
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
    somebody = {"of-somebody-else": ScriptedPipeline(script, "of-somebody-else")}
    result = await invoke(somebody, world, "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "nothing to compare" in result.output


def test_the_tables_leave_out_modules_that_the_gateway_has() -> None:
    rows = [row.pipeline for table in PAPER_TABLES.values() for row in table.rows if row.pipeline]
    systems = [System.named(name) for name in rows]
    assert {system.pipeline for system in systems} == {"qa-dragon", "llm-only", "cot", "direct-rag"}
    assert {module for system in systems for module in system.without} <= qa_dragon.MODULES
    assert set(OWN_MODULES) == loreglass.MODULES


def test_each_system_is_asked_once_however_many_tables_it_is_in() -> None:
    names, absent = systems_for(("2", "4", "own"), ("llm-only", "loreglass", "qa-dragon"))
    assert len(names) == len(set(names))
    assert {"llm-only", "qa-dragon", "qa-dragon-no-reranking", "loreglass", "loreglass-no-ocr"} <= set(names)
    assert "cot" in absent
