"""QA-Dragon's printed tables (arXiv 2508.05197): which pipeline of ours is which row, and its figures.

They are of CRAG-MM with Llama-3.2-11B-Vision on an L40S, judged by GPT-4o-mini: ours stand beside them, not
against them, unless they were made so too.
"""

from dataclasses import dataclass

from evaluation.data.model import Part
from evaluation.runs.systems import System

NOT_HERE = "needs the authors' fine-tuned model"


@dataclass(frozen=True, slots=True)
class Printed:
    """Accuracy and overlap in percent, seconds a question."""

    accuracy: float
    overlap: float
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Row:
    """`pipeline`: our system's name, None where there is none. `marks`: of the table's components. `printed`:
    by source, None for a dash.
    """

    method: str
    pipeline: str | None
    printed: tuple[Printed | None, ...]
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PaperTable:
    """One table. `sources`: what its groups of columns are of; `part`: our questions beside it."""

    key: str
    title: str
    part: Part
    sources: tuple[str, ...]
    rows: tuple[Row, ...]
    components: tuple[str, ...] = ()
    note: str = ""


_DAGGER, _DOUBLE = "qa-dragon-no-search-router-no-fusion-search", "qa-dragon-no-search-router"
_BOTH = ("Single-Source", "Multi-Source")
_COMPONENTS = ("DR", "TR", "FS", "SR", "FT")
_NONE = ("–",) * 5
_OURS_IS_MULTI = (
    "Our pipelines may always search images and pages: read ours beside the multi-source columns."
)

TABLE_2 = PaperTable(
    "2",
    "Table 2: overall performance, single-turn",
    Part.SINGLE,
    _BOTH,
    (
        Row("LLM Only", "llm-only", (Printed(15.79, 18.98, 0.71), Printed(15.79, 18.98, 0.71)), _NONE),
        Row("CoT", "cot", (Printed(16.25, 20.07, 1.78), Printed(16.25, 20.07, 1.78)), _NONE),
        Row("Direct RAG", "direct-rag", (Printed(14.40, 22.67, 1.62), Printed(16.87, 27.15, 1.95)), _NONE),
        Row(
            "QA-Dragon†",
            _DAGGER,
            (Printed(16.77, 31.18, 3.23), Printed(18.99, 34.24, 3.27)),
            ("✓", "✓", "✗", "✗", "✗"),
        ),
        Row(
            "QA-Dragon‡",
            _DOUBLE,
            (Printed(17.44, 33.57, 3.32), Printed(22.08, 42.62, 3.83)),
            ("✓", "✓", "✓", "✗", "✗"),
        ),
        Row(
            "QA-Dragon",
            "qa-dragon",
            (Printed(21.31, 41.09, 4.15), Printed(23.22, 41.77, 4.79)),
            ("✓", "✓", "✓", "✓", "✗"),
        ),
        Row(
            "QA-Dragon*",
            None,
            (Printed(20.79, 41.42, 4.85), Printed(22.39, 41.65, 5.97)),
            ("✓", "✓", "✓", "✓", "✓"),
        ),
    ),
    _COMPONENTS,
    "DR: domain router; TR: tool router; FS: fusion search; SR: search router; FT: fine-tuning. "
    + _OURS_IS_MULTI,
)

TABLE_3 = PaperTable(
    "3",
    "Table 3: overall performance, multi-turn",
    Part.MULTI,
    ("Multi-Turn",),
    (
        Row("LLM Only", "llm-only", (Printed(19.75, 19.72, 0.71),)),
        Row("CoT", "cot", (Printed(19.47, 20.27, 1.78),)),
        Row("Direct RAG", "direct-rag", (Printed(20.95, 33.74, 1.95),)),
        Row("QA-Dragon", "qa-dragon", (Printed(24.78, 48.26, 7.00),)),
        Row("QA-Dragon*", None, (Printed(23.94, 47.49, 7.80),)),
    ),
)

TABLE_4 = PaperTable(
    "4",
    "Table 4: key components left out, single-turn",
    Part.SINGLE,
    _BOTH,
    (
        Row("QA-Dragon", "qa-dragon", (Printed(21.31, 41.09, 4.15), Printed(23.22, 41.77, 4.79))),
        Row(
            "w/o Domain Router",
            "qa-dragon-no-domain-router",
            (Printed(19.04, 41.07, 4.19), Printed(21.25, 41.85, 5.07)),
        ),
        Row(
            "w/o Tool Router",
            "qa-dragon-no-tool-router",
            (Printed(18.32, 41.49, 4.02), Printed(19.97, 42.32, 4.25)),
        ),
        Row("w/o Query Splitting", "qa-dragon-no-query-splitting", (None, Printed(18.32, 41.70, 4.02))),
        Row(
            "w/o Reranking",
            "qa-dragon-no-reranking",
            (Printed(20.90, 41.30, 4.15), Printed(22.14, 41.19, 5.07)),
        ),
    ),
    note=_OURS_IS_MULTI,
)

PAPER_TABLES = {table.key: table for table in (TABLE_2, TABLE_3, TABLE_4)}
OWN = "own"
OWN_SYSTEM = "loreglass"
OWN_MODULES = (
    *("crops", "image-search", "ocr", "fusion-search", "reranking", "second-hop", "verifier"),
    *("search-router", "judge"),
)
"""Of our own system: each is left out once."""


def systems_for(tables: tuple[str, ...], offered: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Those that the tables want and whose pipelines the gateway has, each once; and those without one."""
    wanted = [row.pipeline for key in tables if key != OWN for row in PAPER_TABLES[key].rows if row.pipeline]
    if OWN in tables:
        wanted += [OWN_SYSTEM, *(f"{OWN_SYSTEM}-no-{module}" for module in OWN_MODULES)]
    there: dict[bool, list[str]] = {True: [], False: []}
    for name in dict.fromkeys(wanted):
        there[System.named(name).pipeline in offered].append(name)
    return there[True], there[False]
