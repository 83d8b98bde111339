"""The papers' tables: what they print, and which system of ours stands beside which row.

Data: `papers/*.toml`. What is printed is of other models, data and judges than ours, unless ours were
made so too: each table names them (`setting`).
"""

import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from evaluation.ablation.measuring import label_of, measure_of, scale_of
from evaluation.data.model import Part
from evaluation.runs.systems import System
from evaluation.scoring.protocols import Protocol

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
