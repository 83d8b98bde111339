"""The papers' tables and figures, each with our systems and measures for its rows and columns.

The printed figures are data (`papers/*.toml`), of other models, data and judges than ours; each table names
them (`setting`).
"""

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from evaluation.data.model import Part
from evaluation.record import TurnRecord
from evaluation.runs.running import System
from evaluation.scoring.measures import USAGE, Measure, measure
from evaluation.scoring.protocols import Protocol, Scored, Valued, unit_of

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
        """Return the column's measure. Raises `ValueError` if there is none of that name."""
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
        """Return the paper's value of a column, if any."""
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
    """Return every table by its key."""
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
