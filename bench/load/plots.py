"""Pictures of a run: where the time went by stage and route, and how it went over time."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bench.figures import percentile
from bench.load.figures import TOTAL, questions, stage_times
from bench.wearers.records import Fate, Record, Results
from gateway.planning.stages import STAGE_BUDGETS

_ROUTES = {"direct": "#4477aa", "verify": "#228833", "rag": "#cc7733"}
_FATES = {
    Fate.FULL: ("#2f6f9f", "o", "in full"),
    Fate.DEGRADED: ("#d9a441", "o", "with less"),
    Fate.REFUSED: ("#8a8a8a", "o", "“I don't know”"),
    Fate.SHED: ("#7b4fa3", "x", "turned away"),
    Fate.MISSED: ("#c0392b", "v", "out of time"),
    Fate.LATE: ("#c0392b", "^", "late"),
    Fate.FAILED: ("#000000", "X", "error"),
    Fate.REJECTED: ("#000000", "s", "rejected"),
}
_CAP, _DEADLINE = "#c0392b", "#222222"
_DPI = 110
_BINS = 30
_BREADTH, _LEAST_TALL, _STAGE_TALL = 15.5, 6.5, 0.27
_STEP, _GAP = 0.62, 0.4
"""From one box to the next, and more from one stage to the next."""
_FEWEST_MS = 0.1


def draw(title: str, run: Results, deadline_ms: float, path: Path) -> None:
    """One picture: stages to the left; to the right each question's time, and how many ended a second."""
    mpl.use("agg")
    asked = questions(run)
    stages = stage_times(asked)
    tall = 1.6 + _STAGE_TALL * sum(len(routes) * _STEP + _GAP for routes in stages.values())
    figure = Figure(figsize=(_BREADTH, max(_LEAST_TALL, tall)), dpi=_DPI, layout="constrained")
    figure.suptitle(title, fontsize=14, x=0.008, ha="left", weight="bold")
    parts = figure.subplot_mosaic([["stages", "times"], ["stages", "rates"]], height_ratios=(3, 2))
    _draw_stages(parts["stages"], stages, deadline_ms)
    ends_s = max((record.sent + record.ms / 1000 for record in asked), default=run.started) - run.started
    for part in ("times", "rates"):
        parts[part].set_xlim(0, max(1.0, ends_s))
    _draw_times(parts["times"], asked, run.started, deadline_ms)
    _draw_rates(parts["rates"], asked, run.started, max(1.0, ends_s / _BINS))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _draw_stages(axes: Axes, stages: dict[str, dict[str, list[float]]], deadline_ms: float) -> None:
    """A box a stage and route: quartiles, whiskers from the 5th to the 95th percentile."""
    place, ticks, names = 0.0, list[float](), list[str]()
    for stage, routes in stages.items():
        top = place
        for route in _ROUTES:
            if route in routes:
                _box(axes, place, routes[route], _ROUTES[route])
                place += _STEP
        middle = (top + place - _STEP) / 2
        ticks.append(middle)
        names.append(f"{stage}  ({sum(map(len, routes.values()))})")
        cap = deadline_ms if stage == TOTAL else _cap_ms(stage)
        if cap:
            colour = _DEADLINE if stage == TOTAL else _CAP
            axes.plot(
                [cap, cap], [top - 0.4, place - 0.22], color=colour, linewidth=2.2, solid_capstyle="butt"
            )
        place += _GAP
    axes.axvline(deadline_ms, color=_DEADLINE, linestyle=(0, (4, 3)), linewidth=1)
    axes.set(xscale="log", xlabel="milliseconds", ylim=(place, -0.7))
    axes.set_xlim(left=_FEWEST_MS, right=deadline_ms * 1.6)
    axes.set_yticks(ticks, names)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_title("Stages (how often they ran): median, quartiles, 5 to 95 %", loc="left", pad=24)
    seen = {route for routes in stages.values() for route in routes}
    marks: list[Artist] = [Patch(color=_ROUTES[route], label=route) for route in _ROUTES if route in seen]
    marks.append(Line2D([], [], color=_CAP, linewidth=2.2, label="the stage's allotment"))
    marks.append(Line2D([], [], color=_DEADLINE, linestyle="--", linewidth=1, label="the deadline"))
    _legend(axes, handles=marks)
    _plain(axes, "x")


def _cap_ms(stage: str) -> float:
    known = {each.value: budget.cap for each, budget in STAGE_BUDGETS.items()}
    return float(known.get(stage, 0))


def _box(axes: Axes, place: float, values: Sequence[float], colour: str) -> None:
    quantiles = {name: max(_FEWEST_MS, percentile(values, share)) for name, share in _QUANTILES.items()}
    shape = {**quantiles, "fliers": []}
    axes.bxp(
        [shape],
        positions=[place],
        widths=0.5,
        orientation="horizontal",
        manage_ticks=False,
        patch_artist=True,
        showfliers=False,
        boxprops={"facecolor": colour, "alpha": 0.75, "linewidth": 0},
        medianprops={"color": "white", "linewidth": 1.8},
        whiskerprops={"color": colour, "linewidth": 1.2},
        capprops={"color": colour, "linewidth": 1.2},
    )


_QUANTILES = {"whislo": 0.05, "q1": 0.25, "med": 0.5, "q3": 0.75, "whishi": 0.95}


def _draw_times(axes: Axes, asked: Sequence[Record], started: float, deadline_ms: float) -> None:
    """Each question when it was asked; the wearers behind it."""
    crowd = axes.twinx()
    wearers = sorted((record.sent - started, record.users) for record in asked)
    at, many = [when for when, _ in wearers], [users for _, users in wearers]
    crowd.fill_between(at, many, step="post", color="#ececec")
    crowd.set(ylabel="wearers", ylim=(0, 1.15 * max(many, default=1)))
    crowd.spines[["top"]].set_visible(False)
    axes.set_zorder(crowd.get_zorder() + 1)
    axes.patch.set_visible(False)
    for fate, (colour, marker, label) in _FATES.items():
        found = [record for record in asked if record.fate is fate]
        if found:
            when = [record.sent - started for record in found]
            took = [record.ms / 1000 for record in found]
            axes.scatter(when, took, s=24, color=colour, marker=marker, alpha=0.8, label=label, linewidths=1)
    axes.axhline(deadline_ms / 1000, color=_DEADLINE, linestyle=(0, (4, 3)), linewidth=1)
    axes.set(ylabel="seconds to the last byte", ylim=(0, 1.1 * deadline_ms / 1000))
    axes.set_title("Questions, when they were asked; grey: how many wearers", loc="left", pad=24)
    _legend(axes)
    _plain(axes, "y")


def _draw_rates(axes: Axes, asked: Sequence[Record], started: float, breadth_s: float) -> None:
    """Ends of questions a second, stacked by how they ended."""
    ended = [(int((record.sent + record.ms / 1000 - started) / breadth_s), record.fate) for record in asked]
    edges = range(max((place for place, _ in ended), default=0) + 1)
    floor = [0.0] * len(edges)
    for fate, (colour, _, _) in _FATES.items():
        counts = [ended.count((place, fate)) / breadth_s for place in edges]
        if any(counts):
            left = [place * breadth_s for place in edges]
            axes.bar(left, counts, breadth_s * 0.9, bottom=floor, color=colour, align="edge")
            floor = [below + more for below, more in zip(floor, counts, strict=True)]
    axes.set(xlabel="seconds into the run", ylabel="ended, a second")
    _plain(axes, "y")


def _legend(axes: Axes, handles: Sequence[Artist] | None = None) -> None:
    """Between the title and the axes, where it hides nothing."""
    shown = list(handles) if handles is not None else axes.get_legend_handles_labels()[0]
    legend = axes.legend(
        handles=shown,
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        ncols=max(1, len(shown)),
        fontsize=8.5,
        frameon=False,
        borderaxespad=0.1,
        columnspacing=1.2,
        handletextpad=0.4,
    )
    legend.set_in_layout(False)


def _plain(axes: Axes, along: str) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x" if along == "x" else "y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
