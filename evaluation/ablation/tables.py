"""The papers' tables with ours in them: as Markdown for people, as plain values for programs."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evaluation.ablation.published import (
    NOT_PRINTED,
    Column,
    Difference,
    Figure,
    PaperTable,
    Row,
    Section,
    differences,
    figure,
    measure_of,
    only_where,
    plain,
)
from evaluation.data.model import Part
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import Scored, degradations

_NOT_OFFERED = "not on this gateway"


@dataclass(frozen=True)
class Systems:
    """Every system's answers with their judgements, by its name, and how they were judged."""

    scored: Mapping[str, Sequence[Scored]]
    judge: str
    dataset: str

    @cached_property
    def _figures(self) -> dict[tuple[Any, ...], Figure]:
        return {}

    def of(self, system: str, part: Part | None = None) -> list[Scored]:
        """The answers to one part, or to all."""
        return [each for each in self.scored.get(system, ()) if part is None or each.record.part is part]

    def figure(self, system: str, part: Part | None, column: Column, protocol: Protocol) -> Figure:
        """What a column says of a system; reckoned once, in however many tables it stands."""
        key = (system, part, column.measure, tuple(column.where.items()), column.scale, protocol)
        if key not in self._figures:
            measure = only_where(measure_of(column.measure, protocol), column.where)
            self._figures[key] = figure(self.of(system, part), measure, column.scale)
        return self._figures[key]


@dataclass(frozen=True, slots=True)
class MadeRow:
    """A row with ours in it. `ours`: by column, None where there is none; `said`: why, or which system."""

    row: Row
    said: str
    count: int
    ours: tuple[Figure | None, ...]
    difference: Difference | None = None


@dataclass(frozen=True, slots=True)
class MadeTable:
    """A table with ours in it."""

    table: PaperTable
    sections: tuple[tuple[Section, tuple[MadeRow, ...]], ...]


def made(table: PaperTable, systems: Systems) -> MadeTable:
    """The paper's rows and columns, with ours."""
    return MadeTable(
        table,
        tuple((each, tuple(_rows(each, table.protocol, systems))) for each in table.section),
    )


def _rows(section: Section, protocol: Protocol, systems: Systems) -> Iterator[MadeRow]:
    compared: dict[str, Difference] = {}
    whole = systems.of(section.compare, section.part)
    if whole:
        names = (row.system for row in section.rows if row.system != section.compare)
        answers = {name: systems.of(name, section.part) for name in names}
        compared = differences(whole, {name: each for name, each in answers.items() if each}, protocol)
    for row in section.rows:
        count = len(systems.of(row.system, section.part))
        ours = tuple(
            systems.figure(row.system, section.part, column, protocol) if count and column.measure else None
            for column in section.columns
        )
        said = row.system if count else row.needs or (_NOT_OFFERED if row.system else NOT_PRINTED)
        if row.system and not count and row.system in systems.scored:
            said = f"{row.system}: no such questions"
        yield MadeRow(row, said, count, ours, compared.get(row.system))


def markdown(tables: Iterable[MadeTable], systems: Systems) -> str:
    """The whole page."""
    about = (
        f"Asked: {systems.dataset}. Judge: {systems.judge}. Ours with 95 % intervals over conversations "
        "(bootstrap), of so many turns where it is not all n, beside what the papers print: of other data, "
        "models and judges, named above each table. In small samples elapse flatters whoever is asked later: "
        "the platform remembers what it has read on a few hundred photos."
    )
    lines = ["# Ablations", "", _escaped(about)]
    for each in tables:
        table = each.table
        lines += ["", f"## {_escaped(f'{table.paper}, {table.title}')}", ""]
        lines.append(
            _escaped(f"{table.key}. {table.setting}. Protocol: {table.protocol.value}. {table.note}")
        )
        for section, rows in each.sections:
            lines += [
                "",
                *([f"### {_escaped(section.name)}", ""] if section.name else []),
                *_grid(section, rows),
            ]
    lines += [
        "",
        "## Done without",
        "",
        "How many answers did without what, because it failed or for want of time.",
    ]
    lines += ["", *(_escaped(f"{name}: {_without(each)}") + "  " for name, each in systems.scored.items())]
    return "\n".join(lines) + "\n"


def _without(scored: Sequence[Scored]) -> str:
    counts = sorted(degradations(scored).items(), key=lambda pair: -pair[1])
    return ", ".join(f"{stage} {count}" for stage, count in counts) or "nothing"


def _grid(section: Section, rows: Sequence[MadeRow]) -> Iterator[str]:
    words = ["Method", *([section.marks] if section.marks else []), "Ours"]
    numbers = ["n"]
    for place, column in enumerate(section.columns):
        printed = section.printed(place)
        numbers += [column.name] if printed else []
        numbers += [f"ours {column.name}" if printed else column.name] if column.measure else []
    numbers += ["Difference", "p"] if section.compare else []
    yield _line([*words, *numbers])
    yield "|" + " --- |" * len(words) + " ---: |" * len(numbers)
    for each in rows:
        marks = [each.row.mark] if section.marks else []
        yield _line([each.row.method, *marks, each.said, *_cells(section, each)])


def _cells(section: Section, each: MadeRow) -> Iterator[str]:
    yield str(each.count) if each.count else NOT_PRINTED
    for place, column in enumerate(section.columns):
        if section.printed(place):
            yield _printed(each.row, place, section.digits(place))
        if column.measure:
            yield _figure(each.ours[place], column, each.count)
    if section.compare:
        difference = each.difference
        yield _signed(difference) if difference else NOT_PRINTED
        yield _p_value(difference) if difference else NOT_PRINTED


def _printed(row: Row, place: int, digits: int) -> str:
    value = row.printed[place] if place < len(row.printed) else NOT_PRINTED
    return value if isinstance(value, str) else f"{value:.{digits}f}"


def _figure(figure: Figure | None, column: Column, count: int) -> str:
    if figure is None or math.isnan(figure.value):
        return NOT_PRINTED
    digits = 3 if column.scale == 1 and column.measure.endswith("truthfulness") else 1
    if column.measure == "elapsed_s":
        digits = 2
    of = f" of {figure.turns}" if figure.turns != count else ""
    return f"{figure.value:.{digits}f} ({figure.low:.{digits}f} to {figure.high:.{digits}f}){of}"


def _signed(difference: Difference) -> str:
    interval = difference.interval
    return f"{difference.value:+.3f} ({interval.low:+.3f} to {interval.high:+.3f})"


def _p_value(difference: Difference) -> str:
    return "< 0.001" if difference.p_value < 0.001 else f"{difference.p_value:.3f}"


def as_values(tables: Iterable[MadeTable], systems: Systems) -> dict[str, Any]:
    """The same, for JSON, in the tables' units; null where there is no figure."""
    return {
        "dataset": systems.dataset,
        "judge": systems.judge,
        "done_without": {name: dict(degradations(scored)) for name, scored in systems.scored.items()},
        "tables": [
            {
                "key": each.table.key,
                "paper": each.table.paper,
                "title": each.table.title,
                "setting": each.table.setting,
                "protocol": each.table.protocol.value,
                "note": each.table.note,
                "sections": [
                    {
                        "name": section.name,
                        "part": section.part.value if section.part else None,
                        "rows": [_values(section, row) for row in rows],
                    }
                    for section, rows in each.sections
                ],
            }
            for each in tables
        ],
    }


def _values(section: Section, each: MadeRow) -> dict[str, Any]:
    row = each.row
    names = [column.name for column in section.columns]
    return {
        **row.model_dump(include={"method", "mark", "system", "needs"}),
        "n": each.count,
        "printed": {
            name: None if value == NOT_PRINTED else value
            for name, value in zip(names, row.printed, strict=False)
        },
        "ours": {name: plain(ours) for name, ours in zip(names, each.ours, strict=True)},
        "difference": plain(each.difference),
    }


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_escaped, cells)) + " |"


def _escaped(text: str) -> str:
    """As text in Markdown, wherever it comes from: on one line, no markup, no column of its own."""
    one_line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#" else char for char in one_line)
