"""One dashboard as one picture: headings and cards on Grafana's grid."""

import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image

from deploy.grafana.drawing.charts import heatmap, timeline, timeseries
from deploy.grafana.drawing.figures import bar_gauge, stat, table
from deploy.grafana.drawing.looks import BACK, CARD, EDGE, FAINT, TEXT, family
from deploy.grafana.drawing.source import Prometheus, View
from deploy.grafana.panels import COLUMNS, Dashboard, Kind, Panel, Place, Row

_WIDTH, _UNIT, _GAP, _HEAD = 1680, 30, 8, 54
"""Pixels: of the page, of one grid row, between cards, of the page's head."""
_DPI = 100
_LETTER_PX = 5.6
_COLOURS = 200
_LEGEND_LINES = 7


def draw_all(dashboards: Sequence[Dashboard], view: View, folder: Path) -> list[Path]:
    """A PNG each, named by uid. Raises `httpx.HTTPError` where Prometheus does not answer."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        Prometheus(view.settled()) as prometheus,
        mpl.rc_context({"font.family": family(), "text.color": TEXT}),
    ):
        return [_save(_Page(each, prometheus).drawn(), folder / f"{each.uid}.png") for each in dashboards]


def _save(figure: Figure, path: Path) -> Path:
    """With a palette: a third of the bytes, and no difference to see."""
    held = io.BytesIO()
    figure.savefig(held, format="png", dpi=_DPI, facecolor=BACK)
    picture = Image.open(held).convert("RGB")
    picture.quantize(_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


class _Page:
    def __init__(self, dashboard: Dashboard, prometheus: Prometheus) -> None:
        self._dashboard = dashboard
        self._prometheus = prometheus
        places = dashboard.laid_out()
        self._height = _HEAD + max(place.y + place.height for _, place in places) * _UNIT + _GAP
        self._figure = Figure((_WIDTH / _DPI, self._height / _DPI), dpi=_DPI)
        FigureCanvasAgg(self._figure)

    def drawn(self) -> Figure:
        self._title()
        for thing, place in self._dashboard.laid_out():
            if isinstance(thing, Row):
                self._write(12, self._top(place) + _UNIT / 2 + 2, thing.title, size=10.5, weight="medium")
            else:
                self._card(thing, place)
        return self._figure

    def _title(self) -> None:
        view = self._prometheus.view
        start, end = (datetime.fromtimestamp(at, UTC) for at in (view.start, view.until))
        self._write(12, 22, self._dashboard.title, size=14, weight="medium")
        self._write(12, 42, self._dashboard.description, size=8.5, colour=FAINT)
        chosen = [
            f"{each.label}: {view.variables.get(each.name, 'All')}" for each in self._dashboard.variables
        ]
        told = "     ".join([*chosen, f"{start:%Y-%m-%d %H:%M:%S} to {end:%H:%M:%S} UTC"])
        self._write(_WIDTH - 12, 24, told, size=9, colour=FAINT, side="right")

    def _card(self, panel: Panel, place: Place) -> None:
        x, y = place.x * _WIDTH / COLUMNS + _GAP / 2, self._top(place)
        width, height = place.width * _WIDTH / COLUMNS - _GAP, place.height * _UNIT - _GAP
        box = FancyBboxPatch(
            (x, self._height - y - height),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=3",
            transform=None,
            facecolor=CARD,
            edgecolor=EDGE,
            lw=0.8,
            zorder=-1,
        )
        self._figure.add_artist(box)
        self._write(x + 10, y + 14, panel.title, size=9, weight="medium")
        self._inside(panel, x, y + 26, width, height - 26)

    def _inside(self, panel: Panel, x: float, y: float, width: float, height: float) -> None:
        match panel.kind:
            case Kind.STAT:
                stat(self._axes(x + 1, y, width - 2, height - 2), panel, self._prometheus)
            case Kind.BAR_GAUGE:
                bar_gauge(self._axes(x + 12, y + 4, width - 24, height - 12), panel, self._prometheus)
            case Kind.TABLE:
                inner = (width - 20, height - 10)
                table(self._axes(x + 10, y, *inner), panel, self._prometheus, *inner)
            case Kind.HEATMAP:
                heatmap(self._axes(x + 52, y + 4, width - 64, height - 28), panel, self._prometheus)
            case Kind.TIMELINE:
                axes = self._axes(x + 96, y + 4, width - 108, height - 48)
                self._legend(timeline(axes, panel, self._prometheus), x, y + height, width, 1)
            case Kind.TIMESERIES:
                self._timeseries(panel, x, y, width, height)

    def _timeseries(self, panel: Panel, x: float, y: float, width: float, height: float) -> None:
        axes = self._axes(x + 56, y + 4, width - 68, height - 48)
        names = timeseries(axes, panel, self._prometheus)
        lines = self._legend(names, x, y + height, width, _LEGEND_LINES)
        if lines > 1:
            axes.set_position(self._spot(x + 56, y + 4, width - 68, height - 48 - (lines - 1) * 15))

    def _legend(self, names: Mapping[str, str], x: float, bottom: float, width: float, most: int) -> int:
        """Names with their colours, line by line from the left; returns how many lines it took."""
        lines: list[list[tuple[float, str, str]]] = [[]]
        at = 0.0
        for name, colour in names.items():
            room = len(name) * _LETTER_PX + 30
            if at + room > width - 16 and lines[-1]:
                if len(lines) == most:
                    break
                lines.append([])
                at = 0.0
            lines[-1].append((at, name, colour))
            at += room
        for number, line in enumerate(lines):
            y = bottom - 12 - (len(lines) - 1 - number) * 15
            for offset, name, colour in line:
                self._figure.add_artist(self._dash(x + 12 + offset, y, colour))
                self._write(x + 29 + offset, y, name, size=7.8, colour="#b4b7c0")
        return len(lines)

    def _dash(self, x: float, y: float, colour: str) -> FancyBboxPatch:
        return FancyBboxPatch(
            (x, self._height - y - 1.5),
            12,
            3,
            boxstyle="square,pad=0",
            transform=None,
            facecolor=colour,
            lw=0,
        )

    def _axes(self, x: float, y: float, width: float, height: float) -> mpl.axes.Axes:
        return self._figure.add_axes(self._spot(x, y, width, height))

    def _spot(self, x: float, y: float, width: float, height: float) -> tuple[float, float, float, float]:
        """From pixels from the top left to shares from the bottom left."""
        return (
            x / _WIDTH,
            (self._height - y - height) / self._height,
            width / _WIDTH,
            height / self._height,
        )

    def _top(self, place: Place) -> float:
        return _HEAD + place.y * _UNIT

    def _write(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        colour: str = TEXT,
        weight: str = "normal",
        side: str = "left",
    ) -> None:
        self._figure.text(
            x / _WIDTH,
            1 - y / self._height,
            text,
            fontsize=size,
            color=colour,
            weight=weight,
            ha=side,
            va="center",
        )
