"""The papers' tables: printed figures, and which of our systems and measures stand beside them.

Data: `papers/*.toml`. Printed figures are of other models, data and judges than ours; each table names them
(`setting`).
"""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from evaluation.data.model import Part
from evaluation.record import TurnRecord
from evaluation.runs.running import System
from evaluation.scoring.intervals import Interval, bootstrap, holm, paired
from evaluation.scoring.measures import USAGE, Measure, Valued, known, measure, unit_of
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import Scored

LABELS = {
    "elapsed_s": "Elapse",
    "early_stopped": "Early stop",
    "session_truthfulness": "Truthfulness",
    "prompt_tokens": "Prompt tokens",
    "completion_tokens": "Completion tokens",
}
_RECALL = re.compile(r"(image|crop|page)_recall@([1-9][0-9]?)")


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its 95 % interval over conversations, of so many turns; NaN where there are none."""

    value: float
    low: float
    high: float
    turns: int


@dataclass(frozen=True, slots=True)
class Difference:
    """In truthfulness, to the whole system. `p_value` is corrected for all that are compared (Holm)."""

    value: float
    interval: Interval
    p_value: float
    turns: int


def label_of(measure: str) -> str:
    """How a column is headed that does not say otherwise."""
    recall = _RECALL.fullmatch(measure)
    return f"@{recall[2]}" if recall else LABELS.get(measure, measure.capitalize())


def scale_of(measure: str) -> float:
    """Factor from a measure's unit to the table's: rates to percent, milliseconds to seconds."""
    if measure in USAGE:
        return 1.0
    return 0.001 if measure == "elapsed_s" else 100.0


def measure_of(name: str, protocol: Protocol) -> Measure:
    """The measure of a column. Raises `ValueError` where there is none."""
    return measure("elapsed_mean_ms" if name == "elapsed_s" else name, protocol)


def figure(scored: Sequence[Scored], column: Measure, scale: float) -> Figure:
    """The measure of these answers."""
    value, interval = column.of(scored), bootstrap(scored, column)
    turns = len(known(column.values(scored)))
    return Figure(scale * value, scale * interval.low, scale * interval.high, turns)


def only_where(column: Measure, where: Mapping[str, str]) -> Measure:
    """The measure of a slice: of the turns whose labels are these, before any early stop is known anew."""

    def values(scored: Sequence[Scored]) -> Valued:
        chosen = {
            unit_of(each) for each in scored if all(_label(each.record, *pair) for pair in where.items())
        }
        return {unit: value for unit, value in column.values(scored).items() if unit in chosen}

    return replace(column, values=values) if where else column


def _label(record: TurnRecord, name: str, value: str) -> bool:
    if name == "route":
        return record.answer is not None and record.answer.route.value == value
    return bool(getattr(record, name) == value)


def differences(
    whole: Sequence[Scored], others: Mapping[str, Sequence[Scored]], protocol: Protocol
) -> dict[str, Difference]:
    """Of each of the others to the whole system, over the questions that both were asked."""
    truthfulness = measure("truthfulness", protocol)
    compared = {name: paired(other, whole, truthfulness) for name, other in others.items()}
    p_values = holm([each.p_value for each in compared.values()])
    return {
        name: Difference(each.difference, each.interval, p_value, each.turns)
        for (name, each), p_value in zip(compared.items(), p_values, strict=True)
    }


def plain(value: Figure | Difference | None) -> dict[str, Any] | None:
    """For JSON; null where there is no figure."""
    return None if value is None else _without_nan(asdict(value))


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(each) for key, each in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


_FOLDER = Path(__file__).with_name("papers")
NOT_PRINTED = "–"
_CUTS = frozenset({"route", "dynamism", "domain", "query_category", "image_quality"})


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Column(_Data):
    """`measure`: ours, none where the paper's column has no like. `where`: of turns with these labels only.

    `scale`: of the measure's own value, the paper's unit.
    """

    name: str
    measure: str = ""
    where: dict[str, str] = {}
    scale: float = 1.0

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, given: Any) -> Any:
        told = {"measure": given} if isinstance(given, str) else given
        measure = told.get("measure", "")
        return {"name": label_of(measure), "scale": scale_of(measure), **told}

    @model_validator(mode="after")
    def _is_known(self) -> "Column":
        if self.measure:
            measure_of(self.measure, Protocol.KDD_CUP_2025)
        if self.where.keys() - _CUTS:
            raise ValueError(f"no label to cut by: {sorted(self.where)}")
        return self


class Row(_Data):
    """`system`: ours, by its name in reports; else `needs`: why there is none.

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

    def printed(self, column: int) -> bool:
        """Whether the paper prints anything there."""
        return any(column < len(row.printed) and row.printed[column] != NOT_PRINTED for row in self.rows)

    def digits(self, column: int) -> int:
        """Behind the point, as the paper prints the column."""
        figures = [row.printed[column] for row in self.rows if column < len(row.printed)]
        return max(
            (len(str(each).partition(".")[2]) for each in figures if not isinstance(each, str)), default=0
        )


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
        """Ours that it wants, each once."""
        return list(dict.fromkeys(row.system for each in self.section for row in each.rows if row.system))


@cache
def paper_tables() -> dict[str, PaperTable]:
    """Every table by its key."""
    return {table.key: table for path in sorted(_FOLDER.glob("*.toml")) for table in _tables_of(path)}


def _tables_of(path: Path) -> Iterator[PaperTable]:
    told = tomllib.loads(path.read_text(encoding="utf-8"))
    tables = told.pop("table")
    return (PaperTable.model_validate({**told, **table}) for table in tables)


def systems_for(keys: Sequence[str], offered: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those that the tables want and whose pipelines the gateway has, each once; and those without one."""
    wanted = dict.fromkeys(name for key in keys for name in paper_tables()[key].systems)
    there: dict[bool, list[str]] = {True: [], False: []}
    for name in wanted:
        there[System.named(name).pipeline in offered].append(name)
    return there[True], there[False]
