"""Scores as points with their intervals, and what became of the questions as bars."""

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evaluation.reporting.content import PartScores, SystemReport
from evaluation.reporting.figures.looks import (
    ACCENT,
    FAINT,
    INK,
    QUIET,
    RIGHT,
    RULE,
    SECOND,
    SILENT,
    WIDTH,
    WRONG,
    bare,
    fitted,
    panel,
    placed,
    svg,
)
from evaluation.reporting.readings import OF_CONVERSATIONS, READINGS, MeasureName, Unit, written
from evaluation.reporting.text import plural

_ROW, _TOP, _BOTTOM = 0.185, 0.34, 0.46
"""Inches: of a line, above the lines, below them."""
_SIDE = 0.62
_NAMES = -_SIDE / (WIDTH - 2 * _SIDE)
"""The panel's left edge, in shares of the plot's width."""
_MARKS: Mapping[str, tuple[str, str, str]] = {
    "single": ("o", ACCENT, ACCENT),
    "multi": ("D", SECOND, "white"),
    "all": ("s", INK, INK),
}
_LEAST_SPAN = {Unit.SHARE: 0.1, Unit.SCORE: 0.1, Unit.MILLISECONDS: 10.0, Unit.COUNT: 0.5}


def intervals(systems: Sequence[SystemReport], measure: MeasureName) -> str:
    """One measure of all systems in their order: a point a part, its interval, and the number itself."""
    reading = READINGS[measure]
    lines = [(system, part) for system in systems for part in _parts(system, measure)]
    height = _TOP + _BOTTOM + _ROW * (len(systems) + len(lines)) + 0.04 * len(systems)
    with panel(height) as (figure, axes):
        placed(axes, figure, left=_SIDE, right=_SIDE, top=_TOP, bottom=_BOTTOM)
        low, high = _limits(lines, measure)
        axes.set_xlim(low, high)
        axes.set_ylim(height - _TOP - _BOTTOM, 0)
        _title(
            figure, reading.label + {1: " (more is better)", -1: " (less is better)", 0: ""}[reading.better]
        )
        y = 0.0
        for system in systems:
            y += _ROW
            axes.text(
                _NAMES,
                y - 0.06,
                fitted(system.name),
                transform=axes.get_yaxis_transform(),
                weight="bold",
                va="center",
            )
            for part in _parts(system, measure):
                y += _ROW
                _point(axes, y - 0.06, part, measure)
            y += 0.04
        if low < 0 < high:
            axes.axvline(0, color=FAINT, lw=0.8, zorder=0)
        _ticks(axes, reading.unit)
        axes.set_xlabel(f"95 % intervals; {_counted(systems[0], measure)}", labelpad=3)
        return svg(
            figure, f"intervals-{measure.value}", f"{reading.label} of each system with 95 % intervals"
        )


def _counted(system: SystemReport, measure: MeasureName) -> str:
    """How much the points rest on: the same for all systems, but for times."""
    if READINGS[measure].unit is Unit.MILLISECONDS:
        return "failed requests are left out"
    parts = _parts(system, measure)
    if measure in OF_CONVERSATIONS:
        return "n = " + ", ".join(plural(part.sessions, "conversation") for part in parts)
    return "n = " + ", ".join(f"{part.questions:,} {part.part}" for part in parts)


def _parts(system: SystemReport, measure: MeasureName) -> list[PartScores]:
    """Single and multi-turn where both are, never their sum beside them."""
    known = [part for part in system.parts if measure in part.estimates and part.estimates[measure].known]
    apart = [part for part in known if part.part != "all"]
    return apart or known


def _point(axes: Axes, y: float, part: PartScores, measure: MeasureName) -> None:
    marker, edge, face = _MARKS[part.part]
    estimate = part.estimates[measure]
    axes.axhline(y, color=RULE, lw=0.6, zorder=0)
    if not math.isnan(estimate.low):
        axes.plot([estimate.low, estimate.high], [y, y], color=edge, lw=1.6, solid_capstyle="butt")
    axes.plot([estimate.value], [y], marker=marker, ms=4.6, color=edge, mfc=face, mew=1.1, clip_on=False)
    axes.text(
        -0.03,
        y,
        part.part,
        transform=axes.get_yaxis_transform(),
        ha="right",
        va="center",
        color=QUIET,
        size=7,
    )
    told = written(estimate.value, READINGS[measure].unit)
    axes.text(1.03, y, told, transform=axes.get_yaxis_transform(), ha="left", va="center", size=7)


def _limits(lines: Sequence[tuple[SystemReport, PartScores]], measure: MeasureName) -> tuple[float, float]:
    """All intervals with some room; shares and times from 0 on."""
    unit = READINGS[measure].unit
    found = [part.estimates[measure] for _, part in lines]
    known = [x for each in found for x in (each.value, each.low, each.high) if not math.isnan(x)] or [0.0]
    low, high = min(known), max(known)
    if unit is not Unit.SCORE:
        low = 0.0
    room = max(high - low, _LEAST_SPAN[unit]) * 0.05
    high = max(high, low + _LEAST_SPAN[unit]) + room
    return (low - room if unit is Unit.SCORE else low), (min(high, 1.0) if unit is Unit.SHARE else high)


def _ticks(axes: Axes, unit: Unit) -> None:
    axes.set_yticks([])
    axes.locator_params(axis="x", nbins=4)
    axes.grid(axis="x")
    axes.xaxis.set_major_formatter(lambda value, _: _tick(value, unit))
    bare(axes)


def _tick(value: float, unit: Unit) -> str:
    match unit:
        case Unit.SHARE:
            return f"{100 * value:.0f} %"
        case Unit.MILLISECONDS:
            return f"{value / 1000:g} s" if abs(value) >= 1000 or value == 0 else f"{value:g} ms"
        case _:
            return f"{value:g}".replace("-", "−")


def _title(figure: Figure, text: str) -> None:
    height = figure.get_size_inches()[1]
    figure.text(0.0, 1 - 0.11 / height, text, size=8.5, weight="bold", va="center")


def verdicts(systems: Sequence[SystemReport]) -> str:
    """What became of all questions: right, refused, wrong, as one bar a system."""
    step = 2 * _ROW + 0.06
    height = _TOP + 0.24 + step * len(systems)
    with panel(height) as (figure, axes):
        placed(axes, figure, left=0.0, right=0.0, top=_TOP + 0.2, bottom=0.04)
        axes.set_xlim(0, 1)
        axes.set_ylim(step * len(systems), 0)
        count = plural(systems[0].whole.questions, "question")
        _title(figure, f"{count}: correct, missing, hallucinated")
        _legend(figure)
        for place, system in enumerate(systems):
            y = place * step
            axes.text(0, y + 0.09, fitted(system.name), weight="bold", va="center")
            _bar(axes, y + 0.28, system.whole)
        axes.set_xticks([])
        axes.set_yticks([])
        bare(axes)
        return svg(figure, "verdicts", "Shares of correct, missing and hallucinated answers of each system")


_SHARES = (
    (MeasureName.ACCURACY, RIGHT, "white"),
    (MeasureName.ACCEPTABLE, "#7fb8d8", INK),
    (MeasureName.MISSING, SILENT, INK),
    (MeasureName.HALLUCINATION, WRONG, "white"),
)


def _bar(axes: Axes, y: float, part: PartScores) -> None:
    start = 0.0
    for measure, colour, ink in _SHARES:
        estimate = part.estimates.get(measure)
        if estimate is None or not estimate.known or estimate.value == 0:
            continue
        axes.barh(y, estimate.value, left=start, height=0.17, color=colour, lw=0)
        if estimate.value >= 0.08:
            told = f"{100 * estimate.value:.0f} %"
            axes.text(
                start + estimate.value / 2, y + 0.005, told, ha="center", va="center", color=ink, size=7
            )
        start += estimate.value


def _legend(figure: Figure) -> None:
    height = figure.get_size_inches()[1]
    x = 0.0
    for label, colour in (("correct", RIGHT), ("missing", SILENT), ("hallucinated", WRONG)):
        y = 1 - 0.34 / height
        figure.text(x, y, "■", color=colour, va="center", size=9)
        figure.text(x + 0.035, y, label, va="center", color=QUIET)
        x += 0.06 + 0.019 * len(label)
