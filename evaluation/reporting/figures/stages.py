"""Where a system's time goes: a box for each stage."""

from matplotlib.axes import Axes

from evaluation.reporting.content import SystemReport
from evaluation.reporting.figures.looks import (
    ACCENT,
    INK,
    QUIET,
    RULE,
    bare,
    fitted,
    panel,
    placed,
    svg,
)
from evaluation.reporting.readings import Unit, written
from evaluation.reporting.timing import CLIENT, TOTAL, StageTimes

_ROW, _TOP, _BOTTOM, _LEFT, _RIGHT = 0.2, 0.52, 0.26, 1.32, 0.56
_BOX = 0.1


def stage_boxes(system: SystemReport, longest_ms: float) -> str:
    """From p25 to p75 with the median in it, whiskers from p5 to p95; all systems share one axis."""
    height = _TOP + _BOTTOM + _ROW * len(system.stages)
    with panel(height) as (figure, axes):
        placed(axes, figure, left=_LEFT, right=_RIGHT, top=_TOP, bottom=_BOTTOM)
        axes.set_xscale("symlog", linthresh=10, linscale=0.6)
        axes.set_xlim(0, max(longest_ms, 20.0) * 1.1)
        axes.set_ylim(_ROW * len(system.stages), 0)
        figure.text(0, 1 - 0.11 / height, fitted(system.name), size=8.5, weight="bold", va="center")
        figure.text(1, 1 - 0.36 / height, "median", ha="right", va="center", color=QUIET, size=7)
        for place, times in enumerate(system.stages):
            y = (place + 0.5) * _ROW
            told = fitted(times.stage.replace("_", " "), 22)
            weight = "bold" if times.stage in (TOTAL, CLIENT) else "normal"
            across = axes.get_yaxis_transform()
            axes.text(-0.03, y, told, transform=across, ha="right", va="center", size=7, weight=weight)
            median = written(times.p50, Unit.MILLISECONDS)
            axes.text(1.24, y, median, transform=across, ha="right", va="center", size=7, weight=weight)
            axes.axhline(y, color=RULE, lw=0.6, zorder=0)
            _box(axes, y, times)
        marks = [mark for mark in (0, 10, 100, 1000, 10_000, 100_000) if mark <= longest_ms * 1.1]
        axes.set_xticks(marks, [f"{mark // 1000} s" if mark >= 1000 else f"{mark} ms" for mark in marks])
        axes.minorticks_off()
        axes.set_yticks([])
        axes.grid(axis="x")
        bare(axes)
        return svg(figure, f"stages-{system.number}", f"Milliseconds of each stage of {system.name}")


def _box(axes: Axes, y: float, times: StageTimes) -> None:
    colour = INK if times.stage in (TOTAL, CLIENT) else ACCENT
    axes.plot([times.p5, times.p95], [y, y], color=colour, lw=0.9, solid_capstyle="butt")
    axes.barh(y, times.p75 - times.p25, left=times.p25, height=_BOX, color="white", edgecolor=colour, lw=0.9)
    axes.plot([times.p50, times.p50], [y - _BOX / 2, y + _BOX / 2], color=colour, lw=2, solid_capstyle="butt")
