"""The papers' tables with our systems' figures beside what they print."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.data.model import Part
from evaluation.judging.text import one_line
from evaluation.reporting.formatting import format_p_value
from evaluation.reporting.paper_tables import NOT_PRINTED, Column, PaperTable, Section, paper_tables
from evaluation.runs.running import System
from evaluation.scoring.intervals import compare_pairs, estimate, holm
from evaluation.scoring.measures import measure
from evaluation.scoring.protocols import Protocol, Scored

Figure = dict[str, float | None]
"""`value`, `low`, `high` (95 %, over conversations), `turns`; of a difference also `p_value`."""


@dataclass(frozen=True)
class Systems:
    """Every system's answers with their judgements, by its name, and how they were judged."""

    scored: Mapping[str, Sequence[Scored]]
    judge: str
    dataset: str

    def of(self, system: str, part: Part | None = None) -> list[Scored]:
        """Return the answers to one part, or to all."""
        return [each for each in self.scored.get(system, ()) if part is None or each.record.part is part]

    def figure(self, system: str, part: Part | None, column: Column, protocol: Protocol) -> Figure:
        figure = estimate(self.of(system, part), column.of(protocol))
        value, low, high = (column.scale * each for each in (figure.value, figure.low, figure.high))
        return _figure(value, low, high, figure.turns)


def _figure(value: float, low: float, high: float, turns: int, **more: float) -> Figure:
    figure = {"value": value, "low": low, "high": high, "turns": turns, **more}
    return {name: None if math.isnan(each) else each for name, each in figure.items()}


def differences(section: Section, protocol: Protocol, systems: Systems) -> dict[str, Figure]:
    """Truthfulness less that of the system to compare with, over the questions that both were asked; p-values
    are corrected for all that are compared (Holm).
    """
    whole = systems.of(section.compare, section.part)
    names = dict.fromkeys(row.system for row in section.rows if row.system != section.compare)
    answers = {name: scored for name in names if (scored := systems.of(name, section.part))} if whole else {}
    truthfulness = measure("truthfulness", protocol)
    pairs = [compare_pairs(scored, whole, truthfulness) for scored in answers.values()]
    return {
        name: _figure(each.difference, each.interval.low, each.interval.high, each.turns, p_value=p_value)
        for name, each, p_value in zip(answers, pairs, holm([each.p_value for each in pairs]), strict=True)
    }


def table_values(table: PaperTable, systems: Systems) -> dict[str, Any]:
    """Return a table with our figures for JSON, in the table's units; None if there is no figure."""
    fields = table.model_dump(mode="json", include={"key", "paper", "title", "setting", "protocol", "note"})
    sections = [
        {
            "name": section.name,
            "part": section.part.value if section.part else None,
            "rows": list(_row_values(section, table.protocol, systems)),
        }
        for section in table.section
    ]
    return {**fields, "sections": sections}


def _row_values(section: Section, protocol: Protocol, systems: Systems) -> Iterator[dict[str, Any]]:
    compared = differences(section, protocol, systems)
    for row in section.rows:
        count = len(systems.of(row.system, section.part))
        printed = zip(section.columns, row.printed, strict=False)
        ours = {
            column.name: systems.figure(row.system, section.part, column, protocol)
            if count and column.measure
            else None
            for column in section.columns
        }
        yield {
            **row.model_dump(include={"method", "mark", "system", "needs"}),
            "n": count,
            "printed": {column.name: None if value == NOT_PRINTED else value for column, value in printed},
            "ours": ours,
            "difference": compared.get(row.system),
        }


_ABOUT = (
    "Asked: {dataset}. Judge: {judge}. Ours with 95 % intervals over conversations "
    "(bootstrap), of so many turns where it is not all n, beside what the papers print: of other data, "
    "models and judges, named above each table. In small samples elapse flatters whoever is asked later: "
    "the platform remembers what it has read on a few hundred photos."
)


def markdown(values: Sequence[Mapping[str, Any]], systems: Systems) -> str:
    """Return the complete page from the results of `table_values`."""
    about = _ABOUT.format(dataset=systems.dataset, judge=systems.judge)
    lines = ["# Ablations", "", _escape(about)]
    for each in values:
        table = paper_tables()[each["key"]]
        about = f"{table.key}. {table.setting}. Protocol: {table.protocol.value}. {table.note}"
        lines += ["", f"## {_escape(f'{table.paper}, {table.title}')}", "", _escape(about)]
        for section, ours in zip(table.section, each["sections"], strict=True):
            heading = [f"### {_escape(section.name)}", ""] if section.name else []
            lines += ["", *heading, *_grid(section, ours["rows"], systems)]
    return "\n".join(lines) + "\n"


def _grid(section: Section, rows: Sequence[Mapping[str, Any]], systems: Systems) -> Iterator[str]:
    words = ["Method", *([section.marks] if section.marks else []), "Ours"]
    numbers = ["n"]
    for place, column in enumerate(section.columns):
        printed = section.printed(place)
        numbers += [column.name] if printed else []
        numbers += [f"ours {column.name}" if printed else column.name] if column.measure else []
    numbers += ["Difference", "p"] if section.compare else []
    yield _line([*words, *numbers])
    yield "|" + " --- |" * len(words) + " ---: |" * len(numbers)
    for row in rows:
        marks = [row["mark"]] if section.marks else []
        yield _line([row["method"], *marks, _source(row, systems), *_cells(section, row)])


def _source(row: Mapping[str, Any], systems: Systems) -> str:
    """Return the system of these figures, or the reason why there are none."""
    system = row["system"]
    if system and not row["n"] and system in systems.scored:
        return f"{system}: no such questions"
    at = System.named(system).at
    absent = f"needs --at {at}=URL" if at else "not on this gateway" if system else NOT_PRINTED
    return system if row["n"] else row["needs"] or absent


def _cells(section: Section, row: Mapping[str, Any]) -> Iterator[str]:
    yield str(row["n"] or NOT_PRINTED)
    for place, column in enumerate(section.columns):
        if printed := section.printed(place):
            numbers = [str(each) for each in printed if not isinstance(each, str)]
            digits = max((len(each.partition(".")[2]) for each in numbers), default=0)
            value = row["printed"].get(column.name)
            yield NOT_PRINTED if value is None else value if isinstance(value, str) else f"{value:.{digits}f}"
        if column.measure:
            yield _ours(row["ours"][column.name], column, row["n"])
    if section.compare:
        difference = row["difference"]
        yield "{value:+.3f} ({low:+.3f} to {high:+.3f})".format(**difference) if difference else NOT_PRINTED
        yield format_p_value(difference["p_value"]) if difference else NOT_PRINTED


def _ours(figure: Figure | None, column: Column, count: int) -> str:
    if figure is None or figure["value"] is None:
        return NOT_PRINTED
    plain = column.scale == 1 and column.measure.endswith("truthfulness")
    digits = 3 if plain else 2 if column.measure == "elapsed_s" else 1
    value, low, high = (f"{figure[name]:.{digits}f}" for name in ("value", "low", "high"))
    return f"{value} ({low} to {high})" + (f" of {figure['turns']}" if figure["turns"] != count else "")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_escape, cells)) + " |"


def _escape(text: str) -> str:
    """Escape untrusted text for a Markdown table: one line, no markup, no extra column."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#" else char for char in one_line(text))
