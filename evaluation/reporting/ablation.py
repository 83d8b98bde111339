"""The papers' tables with our systems' figures beside what they print.

The printed figures are data (`papers/*.toml`), of other models, data and judges than ours; each table names
them (`setting`).
"""

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from evaluation.data.model import Part
from evaluation.judging.text import one_line
from evaluation.record import TurnRecord
from evaluation.runs.running import System
from evaluation.scoring.intervals import estimate, holm, paired
from evaluation.scoring.measures import USAGE, Measure, measure
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import Scored, Valued, degradations, unit_of

NOT_PRINTED = "–"
_FOLDER = Path(__file__).with_name("papers")
_LABELS = {
    "benchmark_score": "Score",
    "elapsed_s": "Elapse",
    "harmonic_score": "Harmonic",
    "early_stopped": "Early stop",
    "session_truthfulness": "Truthfulness",
    "prompt_tokens": "Prompt tokens",
    "completion_tokens": "Completion tokens",
}
_CUTS = frozenset(
    {"route", "dynamism", "domain", "query_category", "image_quality", "image_kind", "reference"}
)


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Column(_Data):
    """`measure`: ours, empty if we have none like the paper's. `where`: only turns with these labels, a list
    if several of one kind count. `scale`: converts the measure to the paper's unit, percent or seconds.
    """

    name: str
    measure: str = ""
    where: dict[str, str | tuple[str, ...]] = {}
    scale: float = 1.0

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, given: Any) -> Any:
        fields = {"measure": given} if isinstance(given, str) else given
        name = fields.get("measure", "")
        label = f"@{name.partition('@')[2]}" if "@" in name else _LABELS.get(name, name.capitalize())
        scale = 1.0 if name in USAGE else 0.001 if name == "elapsed_s" else 100.0
        return {"name": label, "scale": scale, **fields}

    @model_validator(mode="after")
    def _is_known(self) -> "Column":
        if self.measure:
            self.of(Protocol.KDD_CUP_2025)
        if self.where.keys() - _CUTS:
            raise ValueError(f"no label to cut by: {sorted(self.where)}")
        return self

    def of(self, protocol: Protocol) -> Measure:
        """The column's measure. Raises `ValueError` where there is none of that name."""
        whole = measure("elapsed_mean_ms" if self.measure == "elapsed_s" else self.measure, protocol)

        def values(scored: Sequence[Scored]) -> Valued:  # stops in conversations stay as they were
            chosen = {unit_of(each) for each in scored if self._holds(each.record)}
            return {unit: value for unit, value in whole.values(scored).items() if unit in chosen}

        return replace(whole, values=values) if self.where else whole

    def _holds(self, record: TurnRecord) -> bool:
        route = record.answer.route.value if record.answer else None
        return all(
            (route if name == "route" else getattr(record, name))
            in (label if isinstance(label, tuple) else (label,))
            for name, label in self.where.items()
        )


class Row(_Data):
    """`system`: ours, by its name in reports; after `@` the name of its gateway, which `--at` gives a URL.
    `needs`: why we have no figures, if there is no system or it was not asked.

    `printed`: by column, as far as the row is printed; text where the paper prints no plain number.
    """

    method: str
    mark: str = ""
    system: str = ""
    needs: str = ""
    printed: tuple[int | float | str, ...] = ()


class Section(_Data):
    """A group of columns of a table. `part`: our questions beside it, else all. `marks`: what marks are of.

    `compare`: the system whose truthfulness the others' differences are to.
    """

    name: str = ""
    part: Part | None = None
    marks: str = ""
    compare: str = ""
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @model_validator(mode="after")
    def _fits(self) -> "Section":
        for row in self.rows:
            if len(row.printed) > len(self.columns):
                raise ValueError(f"{row.method}: more figures than columns")
        return self

    def printed(self, place: int) -> list[int | float | str]:
        """What the paper prints in a column, if anything."""
        figures = [row.printed[place] for row in self.rows if place < len(row.printed)]
        return [figure for figure in figures if figure != NOT_PRINTED]


class PaperTable(_Data):
    """One table or figure."""

    key: str
    title: str
    note: str = ""
    section: tuple[Section, ...]
    paper: str
    setting: str
    protocol: Protocol

    @property
    def systems(self) -> list[str]:
        """Our systems in it, each once."""
        return list(dict.fromkeys(row.system for each in self.section for row in each.rows if row.system))


@cache
def paper_tables() -> dict[str, PaperTable]:
    """Every table by its key."""
    tables = {}
    for path in sorted(_FOLDER.glob("*.toml")):
        paper = tomllib.loads(path.read_text(encoding="utf-8"))
        for table in paper.pop("table"):
            tables[table["key"]] = PaperTable.model_validate({**paper, **table})
    return tables


def systems_at(at: str, keys: Sequence[str]) -> list[str]:
    """Return the tables' systems of the gateway of that name, each once."""
    names = dict.fromkeys(name for key in keys for name in paper_tables()[key].systems)
    return [name for name in names if System.named(name).at == at]


Figure = dict[str, float | None]
"""`value`, `low`, `high` (95 %, over conversations), `turns`; of a difference also `p_value`."""


@dataclass(frozen=True)
class Systems:
    """Every system's answers with their judgements, by its name, and how they were judged."""

    scored: Mapping[str, Sequence[Scored]]
    judge: str
    dataset: str
    _figures: dict[tuple[object, ...], Figure] = field(default_factory=dict)

    def of(self, system: str, part: Part | None = None) -> list[Scored]:
        """The answers to one part, or to all."""
        return [each for each in self.scored.get(system, ()) if part is None or each.record.part is part]

    def figure(self, system: str, part: Part | None, column: Column, protocol: Protocol) -> Figure:
        """Return a column's value for a system; it is computed once for all tables."""
        key = (system, part, column.measure, tuple(column.where.items()), column.scale, protocol)
        if key not in self._figures:
            found = estimate(self.of(system, part), column.of(protocol))
            value, low, high = (column.scale * each for each in (found.value, found.low, found.high))
            self._figures[key] = _figure(value, low, high, found.turns)
        return self._figures[key]


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
    pairs = [paired(scored, whole, truthfulness) for scored in answers.values()]
    return {
        name: _figure(each.difference, each.interval.low, each.interval.high, each.turns, p_value=p_value)
        for name, each, p_value in zip(answers, pairs, holm([each.p_value for each in pairs]), strict=True)
    }


def table_values(table: PaperTable, systems: Systems) -> dict[str, Any]:
    """A table with ours, for JSON, in the table's units; None where there is no figure."""
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


def done_without(systems: Systems) -> dict[str, dict[str, int]]:
    """How many of each system's answers did without which stage."""
    return {name: dict(degradations(scored)) for name, scored in systems.scored.items()}


_ABOUT = (
    "Asked: {dataset}. Judge: {judge}. Ours with 95 % intervals over conversations "
    "(bootstrap), of so many turns where it is not all n, beside what the papers print: of other data, "
    "models and judges, named above each table. In small samples elapse flatters whoever is asked later: "
    "the platform remembers what it has read on a few hundred photos."
)


def markdown(values: Sequence[Mapping[str, Any]], systems: Systems) -> str:
    """The whole page, from what `table_values` makes."""
    about = _ABOUT.format(dataset=systems.dataset, judge=systems.judge)
    lines = ["# Ablations", "", _escaped(about)]
    for each in values:
        table = paper_tables()[each["key"]]
        about = f"{table.key}. {table.setting}. Protocol: {table.protocol.value}. {table.note}"
        lines += ["", f"## {_escaped(f'{table.paper}, {table.title}')}", "", _escaped(about)]
        for section, ours in zip(table.section, each["sections"], strict=True):
            heading = [f"### {_escaped(section.name)}", ""] if section.name else []
            lines += ["", *heading, *_grid(section, ours["rows"], systems)]
    lines += ["", "## Done without", ""]
    lines += ["How many answers did without what, because it failed or for want of time.", ""]
    for name, counts in done_without(systems).items():
        most_first = sorted(counts.items(), key=lambda pair: -pair[1])
        stages = ", ".join(f"{stage} {count}" for stage, count in most_first) or "nothing"
        lines.append(_escaped(f"{name}: {stages}") + "  ")
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
    """Which system's figures these are, or why there are none."""
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
        yield _p_value(difference["p_value"]) if difference else NOT_PRINTED


def _ours(figure: Figure | None, column: Column, count: int) -> str:
    if figure is None or figure["value"] is None:
        return NOT_PRINTED
    plain = column.scale == 1 and column.measure.endswith("truthfulness")
    digits = 3 if plain else 2 if column.measure == "elapsed_s" else 1
    value, low, high = (f"{figure[name]:.{digits}f}" for name in ("value", "low", "high"))
    return f"{value} ({low} to {high})" + (f" of {figure['turns']}" if figure["turns"] != count else "")


def _p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_escaped, cells)) + " |"


def _escaped(text: str) -> str:
    """As text in Markdown, wherever it comes from: on one line, no markup, no column of its own."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#" else char for char in one_line(text))
