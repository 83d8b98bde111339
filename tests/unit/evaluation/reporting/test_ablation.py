"""The ablation command, and the papers' tables that it fills in."""

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from pydantic import ValidationError
from typer.testing import CliRunner, Result

from contracts.answer import Reason, Route
from evaluation.cli import app
from evaluation.reporting.paper_tables import Section, paper_tables, systems_at
from evaluation.runs.running import System
from evaluation.runs.store import load_run
from gateway.pipelines.baselines import pipeline as baselines
from gateway.pipelines.loreglass import pipeline as loreglass
from gateway.pipelines.qa_dragon import pipeline as qa_dragon
from gateway.pipelines.three_step import pipeline as three_step
from gateway.pipelines.wiki_prf import pipeline as wiki_prf
from gateway.state import Query
from gateway.steps.conclusion import Outcome, refusal
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.evaluation.data.benchmark import METADATA, diagnostics
from tests.unit.evaluation.runs.small_world import PAGES, WHO, script, write_world


def ignorant(_: Query) -> Outcome:
    return refusal(Reason.NO_EVIDENCE, Route.RAG)


async def ablate(*words: str | Path) -> Result:
    line = ["ablate", *map(str, words)]
    return await anyio.to_thread.run_sync(partial(CliRunner().invoke, app, line))


async def invoke(systems: Mapping[str, ScriptedPipeline], *words: str | Path) -> Result:
    first, *others = (each for name, each in systems.items() if name == each.name)
    async with scripted_gateway(first, others=others, experiments=True, variants=systems) as url:
        return await ablate(*words, "--gateway", url)


def tables_in(out: Path) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = json.loads((out / "ablation.json").read_text())["tables"]
    return written


def offered() -> dict[str, ScriptedPipeline]:
    """Pipelines by their names, and who answers for them without a module."""
    whole = ["loreglass", "qa-dragon", "llm-only", "of-somebody-else"]
    named = [
        name for name in systems_at("", list(paper_tables())) if name.startswith(("loreglass", "qa-dragon"))
    ]
    systems = {name: ScriptedPipeline(script, System.named(name).pipeline) for name in (*whole, *named)}
    return systems | {"loreglass-no-ocr": ScriptedPipeline(ignorant, "loreglass")}


async def test_every_table_has_the_papers_figures_and_ours(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO] * 3, [[WHO, PAGES]])
    result = await invoke(offered(), world, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "out" / "ablation.md").read_text()
    assert "Loreglass: modules left out" in page
    _, whole = [line for line in page.splitlines() if line.startswith("| QA-Dragon | DR TR FS SR |")]
    assert "| qa-dragon | 3 | 23.22 | 100.0 (100.0 to 100.0) | 41.77 | 75.0 (75.0 to 75.0) | 4.79 |" in whole
    assert "| QA-Dragon\\* | DR TR FS SR FT | needs fine-tuned weights | – |" in page
    assert "| CoT |  | not on this gateway | – | 16.25 | – |" in page
    assert "cot" in result.output  # named, as it is not on this gateway
    values = {table["key"]: table for table in tables_in(tmp_path / "out")}
    own = {row["system"]: row for row in values["loreglass"]["sections"][0]["rows"]}
    assert own["loreglass"]["ours"]["Accuracy"]["value"] == pytest.approx(80)
    assert own["loreglass-no-ocr"]["ours"]["Missing"]["value"] == 100
    assert own["loreglass-no-ocr"]["difference"]["value"] == pytest.approx(-0.6)
    assert own["loreglass-no-crops"]["difference"]["value"] == 0
    assert own["loreglass"]["difference"] is None
    absent = next(row for row in values["qa-dragon-2"]["sections"][1]["rows"] if row["system"] == "cot")
    assert absent["ours"] == {"Accuracy": None, "Overlap": None, "Elapse": None}
    assert absent["printed"] == {"Accuracy": 16.25, "Overlap": 20.07, "Elapse": 1.78}


async def test_slices_contain_questions_with_their_label(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO, PAGES], [])
    result = await invoke(offered(), world, "--out", tmp_path / "out", "--tables", "qa-dragon-figures-4-5")
    assert result.exit_code == 0, result.output
    (table,) = tables_in(tmp_path / "out")
    (row,) = table["sections"][1]["rows"]
    assert (row["n"], row["printed"]["Direct Output"]) == (2, 32.7)
    assert row["ours"]["Direct Output"]["value"] == 100  # one of the two, and right
    assert row["ours"]["Plant"]["value"] is None
    assert "100.0 (100.0 to 100.0) of 1 |" in (tmp_path / "out" / "ablation.md").read_text()


@asynccontextmanager
async def trained(pipeline: str) -> AsyncIterator[str]:
    """The URL of a gateway whose model knows everything but pages, whatever is left out."""
    whole = ScriptedPipeline(script, pipeline)
    async with scripted_gateway(whole, experiments=True, variants=defaultdict(lambda: whole)) as url:
        yield url


async def test_trained_models_row_uses_its_gateway_or_stored_run(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO, PAGES], [])
    at = (world, "--out", tmp_path / "out", "--tables", "qa-dragon-2")
    async with trained("qa-dragon") as url:
        result = await invoke(offered(), *at, "--at", f"tuned={url}")
        assert result.exit_code == 0, result.output
        run = tmp_path / "out" / "runs" / "qa-dragon-no-text-search@tuned"
        assert load_run(run).header.without == ["text-search"]
        assert load_run(run).header.gateway == url
    again = (world, "--out", tmp_path / "again", "--tables", "qa-dragon-2", "--deadline-ms", "9000")
    result = await invoke(offered(), *again, "--run", f"qa-dragon@tuned={run}")
    assert result.exit_code == 0, result.output
    assert load_run(tmp_path / "again" / "runs" / "qa-dragon").header.deadline_ms == 9000
    page = (tmp_path / "again" / "ablation.md").read_text()
    single, multi = (line for line in page.splitlines() if line.startswith("| QA-Dragon\\* |"))
    assert "needs fine-tuned weights" in single
    assert "| qa-dragon@tuned | 2 | 22.39 | 50.0" in multi


async def test_stored_run_without_a_matching_row_is_refused(tmp_path: Path) -> None:
    some, others = (write_world(tmp_path / str(n), [WHO] * n, []) for n in (1, 2))
    assert (await invoke(offered(), some, "--out", tmp_path / "out", "--tables", "loreglass")).exit_code == 0
    run = tmp_path / "out" / "runs" / "loreglass"
    for name, why in (("loreglass", "answers other questions"), ("qa-dragon", "ask no system")):
        new = (others, "--out", tmp_path / "new", "--tables", "loreglass", "--run", f"{name}={run}")
        result = await invoke(offered(), *new)
        assert result.exit_code == 1
        assert why in " ".join(result.output.split())


async def test_stored_runs_accept_later_targets_without_a_gateway(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO], [])
    every = ("crag-mm-task-1", "crag-mm-task-2", "loreglass", "qa-dragon", "three-step", "wiki-prf")
    pipelines = {name: ScriptedPipeline(script, name) for name in every}
    first = (world, "--out", tmp_path / "out", "--tables", "crag-mm-stages")
    assert (await invoke(pipelines, *first)).exit_code == 0
    source = diagnostics(tmp_path, **{"questions-0": METADATA})
    runs = [f"--run={name}={tmp_path / 'out' / 'runs' / name}" for name in every]
    result = await ablate(*first, "--diagnostics", source, "--gateway", "http://127.0.0.1:1", *runs)
    assert result.exit_code == 0, result.output
    (table,) = tables_in(tmp_path / "out")
    assert [row["ours"]["Identified"]["turns"] for row in table["sections"][0]["rows"]] == [1] * len(every)


async def test_no_cuts_option_asks_every_system_without_the_planner(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", [WHO], [])
    async with trained("loreglass") as url:
        options = ("--out", tmp_path / "out", "--tables", "usage", "--no-cuts", "--gateway", url)
        result = await ablate(world, *options)
    assert result.exit_code == 0, result.output
    assert load_run(tmp_path / "out" / "runs" / "loreglass").header.without == ["planner"]


async def test_tables_are_listed_with_their_systems() -> None:
    listed = (await ablate("--tables", "list")).output.splitlines()
    assert {line for line in listed if not line.startswith(" ")} == set(paper_tables())
    at = listed.index("blackpearl-6")
    assert "three-step-no-image-search-no-reranking" in listed[at + 2]


@pytest.mark.parametrize(
    ("tables", "code", "why"), [("qa-dragon-2,5", 2, "qa-dragon-4"), ("qa-dragon-2", 1, "nothing to compare")]
)
async def test_unknown_table_or_pipeline_is_refused(tmp_path: Path, tables: str, code: int, why: str) -> None:
    world = write_world(tmp_path / "world", [WHO], [])
    somebody = {"of-somebody-else": ScriptedPipeline(script, "of-somebody-else")}
    result = await invoke(somebody, world, "--out", tmp_path / "out", "--tables", tables)
    assert (result.exit_code, why in result.output) == (code, True)


MODULES = {
    "loreglass": loreglass.MODULES,
    "qa-dragon": qa_dragon.MODULES,
    "three-step": three_step.MODULES,
    "wiki-prf": wiki_prf.MODULES,
    "direct-rag": baselines.MODULES,
    **dict.fromkeys(
        ("llm-only", "cot", "crag-mm-task-1", "crag-mm-task-2", "crag-mm-task-3"), frozenset[str]()
    ),
}
TABLES = paper_tables()


def test_tables_ablate_exactly_the_gateways_modules() -> None:
    without: dict[str, set[str]] = {name: set() for name in MODULES}
    for each in (System.named(name) for table in TABLES.values() for name in table.systems):
        without[each.pipeline] |= set(each.without)
    assert without == {name: set(modules) for name, modules in MODULES.items()}


@pytest.mark.parametrize("key", ["crag-mm-4", "crag-mm-5", "crag-mm-8", "crag-mm-9"])
def test_printed_rates_add_up(key: str) -> None:
    checked = 0
    for section in TABLES[key].section:
        for each in section.rows:
            if each.printed and "–" not in each.printed:
                right, missing, wrong, truth = (float(value) for value in each.printed[:4])
                assert right + missing + wrong == pytest.approx(100, abs=0.21), each
                if len(each.printed) == 4:
                    assert right - wrong == pytest.approx(truth, abs=0.21), each
                checked += 1
    assert checked >= 10


@pytest.mark.parametrize(
    "section",
    [
        {"columns": ["sharpness"], "rows": []},
        {"columns": [{"name": "Head", "measure": "accuracy", "where": {"popularity": "head"}}], "rows": []},
        {"columns": ["accuracy"], "rows": [{"method": "x", "printed": [1, 2]}]},
        {"columns": ["accuracy"], "rows": [{"method": "x", "sytem": "loreglass"}]},
    ],
    ids=["measure", "label", "too many figures", "misspelt"],
)
def test_invalid_table_is_refused(section: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Section.model_validate(section)
