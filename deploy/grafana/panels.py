"""What a dashboard is made of: our own words for it, turned into Grafana's JSON by `grafana_json`.

Own dataclasses rather than grafana-foundation-sdk: what pip resolves to speaks the schema of Grafana 10.1
(36, options null, ref ids empty), and pictures are drawn from the same declarations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

GREEN, YELLOW, ORANGE, RED, BLUE, PURPLE, GREY = (
    "#73bf69",
    "#f2cc0c",
    "#ff9830",
    "#f2495c",
    "#5794f2",
    "#b877d9",
    "#7b8087",
)


class Kind(StrEnum):
    """Grafana's names of the panels that are used here."""

    TIMESERIES = "timeseries"
    STAT = "stat"
    BAR_GAUGE = "bargauge"
    HEATMAP = "heatmap"
    TABLE = "table"
    TIMELINE = "state-timeline"


class Unit(StrEnum):
    """Grafana's ids of units."""

    NUMBER = "short"
    SECONDS = "s"
    SHARE = "percentunit"
    BYTES = "bytes"
    PER_SECOND = "reqps"
    OPS = "ops"
    TIMES = "suffix:×"


@dataclass(frozen=True, slots=True)
class Threshold:
    """From `value` on, `colour`."""

    value: float
    colour: str


@dataclass(frozen=True, slots=True)
class Query:
    """PromQL. `legend` names each series by its labels: `{{stage}}`; in a table, the column of the values.

    `exemplars`: ask for trace ids beside the samples, where the expression is over a histogram's buckets.
    """

    expr: str
    legend: str
    exemplars: bool = False
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel on a grid of 24 columns; `height` in Grafana's rows of about 30 pixels.

    `alert`: the anchor in the runbook of the alert that goes with it. `colours`: of series by their name.
    `steps`: what is shown changes at once (queues, states), so lines must not slope.
    """

    title: str
    kind: Kind
    description: str
    queries: Sequence[Query]
    unit: Unit = Unit.NUMBER
    width: int = 8
    height: int = 8
    base: str = GREEN
    thresholds: Sequence[Threshold] = ()
    colours: Mapping[str, str] = field(default_factory=dict)
    stacked: bool = False
    steps: bool = False
    logarithmic: bool = False
    minimum: float | None = 0.0
    maximum: float | None = None
    decimals: int | None = None
    alert: str = ""
    sort_by: str = ""
    columns: Sequence[str] = ()
    """Of a table: the labels in order, before the values."""
    states: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """Of a timeline: a value's word and colour."""


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under a heading."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice at the top: the values of a label. All of them unless the reader picks some."""

    name: str
    label: str
    query: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a panel is, in grid units."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One dashboard: `uid` is its address in Grafana and its file's name."""

    uid: str
    title: str
    description: str
    rows: Sequence[Row]
    variables: Sequence[Variable]

    def laid_out(self) -> list[tuple[Row | Panel, Place]]:
        """Headings and panels in order, left to right, a new line where one is full."""
        placed: list[tuple[Row | Panel, Place]] = []
        y = 0
        for row in self.rows:
            placed.append((row, Place(0, y, COLUMNS, 1)))
            x, y, tallest = 0, y + 1, 0
            for panel in row.panels:
                if x + panel.width > COLUMNS:
                    x, y, tallest = 0, y + tallest, 0
                placed.append((panel, Place(x, y, panel.width, panel.height)))
                x, tallest = x + panel.width, max(tallest, panel.height)
            y += tallest
        return placed


COLUMNS = 24
