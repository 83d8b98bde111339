"""Panels of single values: big numbers, bars, tables."""

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from deploy.grafana.drawing.amounts import written
from deploy.grafana.drawing.charts import days
from deploy.grafana.drawing.looks import EDGE, FAINT, GRID, TEXT, by_threshold
from deploy.grafana.drawing.source import Prometheus
from deploy.grafana.panels import Panel

_ROW_PX = 25.0
_LETTER_PX = 6.4
_NAME_PX = 6.2


def stat(axes: Axes, panel: Panel, prometheus: Prometheus) -> None:
    """The last value, large, over its course."""
    axes.axis("off")
    found = prometheus.over_time(panel.queries[0])
    value = found[0].last if found else float("nan")
    colour = by_threshold(panel, value)
    if found:
        below = axes.inset_axes((0.0, 0.0, 1.0, 0.42))
        below.axis("off")
        course = found[0].values
        below.plot(days(found[0].times), course, color=colour, lw=1, alpha=0.8)
        low = min(0.0, float(np.nanmin(course))) if np.any(~np.isnan(course)) else 0.0
        below.fill_between(days(found[0].times), course, low, color=colour, alpha=0.18, lw=0)
        below.margins(x=0, y=0.05)
    text = written(value, panel.unit, panel.decimals)
    axes.text(0.5, 0.66, text, color=colour, fontsize=19, ha="center", va="center", weight="medium")


def bar_gauge(axes: Axes, panel: Panel, prometheus: Prometheus) -> None:
    """A bar for each series, the largest first."""
    axes.axis("off")
    found = [series for query in panel.queries for series in prometheus.at_once(query)]
    found = sorted((each for each in found if not math.isnan(each.last)), key=lambda series: -series.last)
    most = panel.maximum or max((series.last for series in found), default=1.0) or 1.0
    axes.set_xlim(0, 1)
    axes.set_ylim(max(len(found), 6), 0)
    longest = max((len(series.name) for series in found), default=0)
    left = min(0.62, longest * _NAME_PX / axes.get_window_extent().width + 0.02)
    wide = 0.82 - left
    for place, series in enumerate(found):
        colour, middle = by_threshold(panel, series.last), place + 0.5
        axes.text(0.0, middle, series.name, color=TEXT, fontsize=8, va="center")
        axes.barh(middle, wide, left=left, height=0.62, color=GRID, lw=0)
        axes.barh(middle, wide * min(1.0, series.last / most), left=left, height=0.62, color=colour, lw=0)
        amount = written(series.last, panel.unit, panel.decimals)
        axes.text(1.0, middle, amount, color=colour, fontsize=8.5, va="center", ha="right")


def table(axes: Axes, panel: Panel, prometheus: Prometheus, width_px: float, height_px: float) -> None:
    """A line for each set of labels, a column for each query; as many lines as fit."""
    axes.axis("off")
    axes.set_xlim(0, width_px)
    axes.set_ylim(height_px, 0)
    values: list[Mapping[tuple[tuple[str, str], ...], float]] = []
    for query in panel.queries:
        found = prometheus.at_once(query)
        values.append({tuple(sorted(each.labels.items())): each.last for each in found})
    rows = list(dict.fromkeys(key for column in values for key in column))
    labels = list(dict.fromkeys([*panel.columns, *(name for row in rows for name, _ in row)]))
    heads = [*labels, *[query.legend for query in panel.queries]]
    rows = sorted(rows, key=lambda row: _place(panel, row, values))
    lines = [[*[dict(row).get(name, "") for name in labels], *_amounts(panel, row, values)] for row in rows]
    lines = lines[: int(height_px / _ROW_PX) - 1]
    _write(axes, heads, lines, len(labels), width_px)


def _place(
    panel: Panel,
    row: tuple[tuple[str, str], ...],
    values: list[Mapping[tuple[tuple[str, str], ...], float]],
) -> tuple[float, str]:
    name = dict(row).get(panel.sort_by, "")
    for query, column in zip(panel.queries, values, strict=True):
        if query.legend == panel.sort_by:
            value = column.get(row, float("nan"))
            return (math.inf if math.isnan(value) else -value, name)
    return (0.0, name)


def _amounts(
    panel: Panel,
    row: tuple[tuple[str, str], ...],
    values: list[Mapping[tuple[tuple[str, str], ...], float]],
) -> list[str]:
    return [
        written(
            column.get(row, float("nan")),
            query.unit or panel.unit,
            panel.decimals if query.unit is None else None,
        )
        for query, column in zip(panel.queries, values, strict=True)
    ]


def _write(axes: Axes, heads: list[str], lines: list[list[str]], labels: int, width_px: float) -> None:
    """Names to the left, amounts to the right, columns as wide as what is in them."""
    needed = [
        max(len(heads[place]), *(len(line[place]) for line in lines)) * _LETTER_PX + 22 if lines else 60.0
        for place in range(len(heads))
    ]
    scale = width_px / sum(needed)
    edges = np.cumsum([0.0, *[each * scale for each in needed]])
    for place, head in enumerate(heads):
        right = place >= labels
        x = edges[place + 1] - 6 if right else edges[place] + 2
        side = "right" if right else "left"
        axes.text(x, _ROW_PX / 2, head, color=FAINT, fontsize=7.8, va="center", ha=side, weight="medium")
        for number, line in enumerate(lines, 1):
            y = (number + 0.5) * _ROW_PX
            axes.text(x, y, line[place], color=TEXT, fontsize=8, va="center", ha=side, clip_on=True)
    for number in range(1, len(lines) + 1):
        axes.axhline(number * _ROW_PX, color=EDGE, lw=0.7)
