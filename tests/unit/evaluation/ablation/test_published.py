"""The papers' tables are complete and consistent and name existing systems."""

import pytest
from pydantic import ValidationError

from evaluation.ablation.published import Row, Section, paper_tables, systems_for
from evaluation.runs.running import System
from gateway.pipelines.baselines import direct_rag
from gateway.pipelines.loreglass import pipeline as loreglass
from gateway.pipelines.qa_dragon import pipeline as qa_dragon
from gateway.pipelines.three_step import pipeline as three_step
from gateway.pipelines.wiki_prf import pipeline as wiki_prf

MODULES = {
    "loreglass": loreglass.MODULES,
    "qa-dragon": qa_dragon.MODULES,
    "three-step": three_step.MODULES,
    "wiki-prf": wiki_prf.MODULES,
    "direct-rag": direct_rag.MODULES,
    **dict.fromkeys(
        ("llm-only", "cot", "crag-mm-task-1", "crag-mm-task-2", "crag-mm-task-3"), frozenset[str]()
    ),
}
TABLES = paper_tables()


def systems() -> list[System]:
    return [System.named(name) for table in TABLES.values() for name in table.systems]


def row(key: str, section: str, method: str, mark: str = "") -> Row:
    """The only row of that name."""
    (found,) = [
        each
        for part in TABLES[key].section
        for each in part.rows
        if (part.name, each.method, each.mark) == (section, method, mark)
    ]
    return found


def test_the_tables_leave_out_modules_that_the_gateway_has() -> None:
    assert [each for each in systems() if not set(each.without) <= MODULES[each.pipeline]] == []


def test_every_module_is_left_out_by_some_table() -> None:
    asked: dict[str, set[str]] = {name: set() for name in MODULES}
    for each in systems():
        asked[each.pipeline] |= set(each.without)
    assert asked == {name: set(modules) for name, modules in MODULES.items()}


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


def test_each_system_is_asked_once() -> None:
    names, absent = systems_for(("qa-dragon-2", "qa-dragon-4", "loreglass"), ("loreglass", "qa-dragon"))
    assert len(names) == len(set(names))
    assert {"qa-dragon", "qa-dragon-no-reranking", "loreglass", "loreglass-no-ocr"} <= set(names)
    assert "cot" in absent


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
