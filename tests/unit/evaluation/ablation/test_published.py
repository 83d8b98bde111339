"""The papers' tables as data: complete, consistent in themselves, and asking for what there is."""

import pytest
from pydantic import ValidationError

from evaluation.ablation.published import PaperTable, Row, Section, paper_tables, systems_for
from evaluation.runs.systems import System
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


def test_each_paper_has_its_tables() -> None:
    assert {key.rpartition("-")[0] for key in TABLES} >= {"qa-dragon", "blackpearl", "wiki-prf", "crag-mm"}
    assert {"qa-dragon-2", "blackpearl-6", "wiki-prf-15", "crag-mm-9", "crag-mm-figure-3", "usage"} <= set(
        TABLES
    )


@pytest.mark.parametrize("key", ["crag-mm-4", "crag-mm-5", "crag-mm-8", "crag-mm-9"])
def test_printed_rates_add_up_and_single_turns_truthfulness_is_their_difference(key: str) -> None:
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


def test_the_same_system_has_the_same_figures_in_every_table_of_a_paper() -> None:
    for larger, smaller in (("crag-mm-8", "crag-mm-4"), ("crag-mm-9", "crag-mm-4")):
        known = {(r.method, r.mark): r.printed for s in TABLES[larger].section for r in s.rows if r.printed}
        part = TABLES[larger].section[0].part
        shared = [r for s in TABLES[smaller].section if s.part is part for r in s.rows if r.printed]
        assert len(shared) >= 6
        assert [r for r in shared if known[r.method, r.mark] != r.printed] == []
    for section in ("Single-Source", "Multi-Source"):
        whole = row("qa-dragon-2", section, "QA-Dragon", "DR TR FS SR")
        assert whole.printed == row("qa-dragon-4", section, "QA-Dragon").printed
    best = row("wiki-prf-8", "Tools", "Multi-tools", "P R F").printed
    assert best == row("wiki-prf-14", "", "Top-5 Articles", "Top-3").printed


def test_gains_are_those_that_the_papers_sentences_tell() -> None:
    """QA-Dragon's abstract; Wiki-PRF's section 4.3; CRAG-MM's section 5.3."""

    def accuracy(key: str, section: str, method: str, mark: str = "") -> float:
        return float(row(key, section, method, mark).printed[0])

    ours = [
        accuracy("qa-dragon-2", name, "QA-Dragon", "DR TR FS SR")
        for name in ("Single-Source", "Multi-Source")
    ]
    assert ours[0] - accuracy("qa-dragon-2", "Single-Source", "CoT") == pytest.approx(5.06)
    assert ours[1] - accuracy("qa-dragon-2", "Multi-Source", "Direct RAG") == pytest.approx(6.35)
    turns = accuracy("qa-dragon-3", "Multi-Turn", "QA-Dragon")
    assert turns - accuracy("qa-dragon-3", "Multi-Turn", "LLM Only") == pytest.approx(5.03)
    base, filtering, processing, _ = (float(each.printed[0]) for each in TABLES["wiki-prf-8"].section[0].rows)
    assert (processing - base, filtering - base) == (pytest.approx(2.54), pytest.approx(2.02))
    grounding, captioning, _ = (float(each.printed[0]) for each in TABLES["wiki-prf-8"].section[1].rows)
    assert (captioning - filtering, grounding - filtering) == (pytest.approx(1.94), pytest.approx(0.98))
    quality = [each.printed for each in TABLES["crag-mm-figure-4a"].section[0].rows[1:4]]  # industry's
    figures = [[float(value) for value in printed if value != "–"] for printed in quality]
    assert max(each[0] - min(each) for each in figures) == 46
    assert (max(each[1] for each in figures), max(each[4] for each in figures if len(each) > 4)) == (20, 24)


def test_rows_that_need_training_are_named_and_not_asked() -> None:
    needing = [
        each for table in TABLES.values() for part in table.section for each in part.rows if each.needs
    ]
    assert {each.method for each in needing} >= {"QA-Dragon*", "+ Refusal Data Construction"}
    assert all(not each.system for each in needing)


def test_recall_grows_with_the_number_of_results() -> None:
    for key in ("crag-mm-figure-3", "crag-mm-figure-6"):
        for section in TABLES[key].section:
            for each in section.rows:
                figures = [float(value) for value in each.printed if value != "–"]
                assert figures == sorted(figures)


def test_each_system_is_asked_once_however_many_tables_it_is_in() -> None:
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
def test_a_table_that_cannot_be_made_is_no_table(section: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Section.model_validate(section)


def test_a_table_names_its_setting() -> None:
    assert all(isinstance(each, PaperTable) and each.setting and each.paper for each in TABLES.values())
