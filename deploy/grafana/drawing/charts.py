"""Panels along time: lines, stacks, heatmaps, states."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.ticker import FuncFormatter, Locator, MaxNLocator

from deploy.grafana.drawing.amounts import written
from deploy.grafana.drawing.looks import CARD, EDGE, FAINT, GRID, colours
from deploy.grafana.drawing.source import Floats, Prometheus, Series, View
from deploy.grafana.panels import Panel, Unit

_DAY_S = 86_400.0
_MARKS_S = (15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400)
_ORANGES = LinearSegmentedColormap.from_list("oranges", ["#3a2415", "#a8521b", "#ff9830", "#ffe3bf"])
_MOST_EXEMPLARS = 120


def timeseries(axes: Axes, panel: Panel, prometheus: Prometheus) -> dict[str, str]:
    """Lines or a stack; returns the legend: colours by name."""
    groups = [prometheus.over_time(query) for query in panel.queries]
    shown = _worth_showing(groups)
    paint = colours(panel, [series.name for group in shown for series in group])
    if panel.stacked and shown:
        stack(axes, shown[0], paint)
    for group in shown[1:] if panel.stacked else shown:
        for series in group:
            style = "steps-post" if panel.steps else "default"
            width = 2.0 if panel.stacked else 1.3
            axes.plot(days(series.times), series.values, color=paint[series.name], lw=width, drawstyle=style)
            if not panel.stacked and not panel.steps and not panel.logarithmic:
                axes.fill_between(
                    days(series.times), series.values, color=paint[series.name], alpha=0.07, lw=0
                )
    _points(axes, panel, prometheus)
    along_time(axes, prometheus.view)
    _upwards(axes, panel)
    return dict(paint)


def _worth_showing(groups: Sequence[Sequence[Series]]) -> list[list[Series]]:
    """Without series that have no sample, and without the zeros that stood in for others until those came."""

    def stood_in(series: Series) -> bool:
        return bool(np.isnan(series.values[-1])) and not np.any(np.nan_to_num(series.values))

    return [
        [
            each
            for each in group
            if not np.all(np.isnan(each.values)) and not (len(group) > 1 and stood_in(each))
        ]
        for group in groups
    ]


class _Binary(Locator):
    """At most five marks, at multiples of a power of two."""

    def __call__(self) -> Sequence[float]:
        low, high = self.axis.get_view_interval()  # type: ignore[union-attr]
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        step = 2.0 ** np.ceil(np.log2(max(vmax - vmin, 1.0) / 5))
        return list(np.arange(np.ceil(vmin / step) * step, vmax, step))


def stack(axes: Axes, group: Sequence[Series], paint: Mapping[str, str]) -> None:
    """Series on top of each other; what has no sample counts as nothing."""
    if not group:
        return
    order = sorted(group, key=lambda series: -float(np.nansum(series.values)))
    colour = {series.name: paint[series.name] for series in order}
    heights = [np.nan_to_num(series.values) for series in order]
    known = ~np.all([np.isnan(series.values) for series in order], axis=0)
    base = np.zeros_like(heights[0])
    for series, height in zip(order, heights, strict=True):
        top = base + height
        at = days(series.times)
        axes.fill_between(at, base, top, where=known, color=colour[series.name], alpha=0.65, lw=0)
        axes.plot(at, np.where(known & (height > 0), top, np.nan), color=colour[series.name], lw=0.8)
        base = top


def heatmap(axes: Axes, panel: Panel, prometheus: Prometheus) -> None:
    """A column for each step, a row for each bucket, brighter where more fell."""
    found = [series for query in panel.queries for series in prometheus.over_time(query)]
    found = sorted(
        (each for each in found if each.labels["le"] != "+Inf"), key=lambda each: float(each.labels["le"])
    )
    along_time(axes, prometheus.view)
    if len(found) < 2:
        return
    counts = np.diff(
        np.vstack([np.zeros_like(found[0].values), *[np.nan_to_num(each.values) for each in found]]), axis=0
    )
    hit = np.flatnonzero(counts.sum(axis=1) > 0)
    low, high = (max(0, hit[0] - 1), hit[-1] + 2) if hit.size else (0, len(found))
    shown = np.ma.masked_less_equal(counts[low:high], 0.0)
    edges = np.arange(shown.shape[0] + 1, dtype=np.float64)
    axes.pcolormesh(
        days(_edges(found[0].times)),
        edges,
        shown,
        cmap=_ORANGES,
        norm=PowerNorm(0.5, vmin=0),
        edgecolor=CARD,
        lw=0.2,
    )
    limits = [float(each.labels["le"]) for each in found[low:high]]
    every = max(1, len(limits) // 7)
    axes.set_yticks(edges[1::every], [written(limit, panel.unit) for limit in limits[::every]])
    axes.set_ylim(0, shown.shape[0])
    _tidy(axes)


def timeline(axes: Axes, panel: Panel, prometheus: Prometheus) -> dict[str, str]:
    """A bar for each series, coloured by its state."""
    found = [series for query in panel.queries for series in prometheus.over_time(query)]
    found.sort(key=lambda series: series.name)
    for place, series in enumerate(found):
        edges = days(_edges(series.times))
        for left, right, value in zip(edges, edges[1:], series.values, strict=False):
            if not np.isnan(value):
                colour = panel.states.get(int(value), ("", FAINT))[1]
                axes.barh(place, right - left, left=left, height=0.68, color=colour, alpha=0.75, lw=0)
    axes.set_yticks(range(len(found)), [series.name for series in found])
    axes.set_ylim(len(found) - 0.4, -0.6)
    along_time(axes, prometheus.view)
    _tidy(axes)
    axes.grid(visible=False, axis="y")
    return dict(panel.states.values())


def days(times: Floats) -> Floats:
    """Unix seconds as matplotlib counts time."""
    return times / _DAY_S


def along_time(axes: Axes, view: View) -> None:
    """The span of the view, with about five marks."""
    axes.set_xlim(view.start / _DAY_S, view.until / _DAY_S)
    every = next((each for each in _MARKS_S if view.minutes * 60 / each <= 6), _MARKS_S[-1])
    marks = np.arange(np.ceil(view.start / every) * every, view.until, every)
    form = "%H:%M:%S" if every < 60 else "%H:%M" if every < _DAY_S else "%d %b"
    axes.set_xticks(days(marks), [datetime.fromtimestamp(mark, UTC).strftime(form) for mark in marks])


def _edges(times: Floats) -> Floats:
    step = times[1] - times[0] if times.size > 1 else 1.0
    return np.append(times, times[-1] + step) - step / 2


def _points(axes: Axes, panel: Panel, prometheus: Prometheus) -> None:
    """Exemplars: single observations whose trace can be opened."""
    for query in panel.queries:
        if query.exemplars:
            found = prometheus.exemplars(query)
            found = found[:: max(1, len(found) // _MOST_EXEMPLARS)]
            at, values = np.array([each[0] for each in found]), np.array([each[1] for each in found])
            axes.scatter(days(at), values, s=7, marker="D", color="#e8e9f0", alpha=0.55, lw=0, zorder=3)


def _upwards(axes: Axes, panel: Panel) -> None:
    if panel.logarithmic:
        axes.set_yscale("log")
    low, high = axes.get_ylim()
    if not panel.logarithmic:
        high = high if high > 0 else 1.0
        axes.set_ylim(low if panel.minimum is None else panel.minimum, high * 1.05)
        axes.yaxis.set_major_locator(_Binary() if panel.unit is Unit.BYTES else MaxNLocator(5))
    _limits(axes, panel)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: written(value, panel.unit)))
    axes.minorticks_off()
    _tidy(axes)


def _limits(axes: Axes, panel: Panel) -> None:
    """Thresholds that are in sight."""
    low, high = axes.get_ylim()
    for limit in panel.thresholds:
        if low < limit.value <= high:
            axes.axhline(limit.value, color=limit.colour, lw=1, ls=(0, (5, 4)), alpha=0.85)


def _tidy(axes: Axes) -> None:
    axes.set_facecolor(CARD)
    axes.grid(color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=FAINT, length=0, labelsize=7.5, pad=3)
    for spine in axes.spines.values():
        spine.set_color(EDGE)
        spine.set_visible(False)
