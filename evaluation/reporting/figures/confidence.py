"""What refusing costs and what confidence is worth, one panel a system."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes

from evaluation.calibration.curve import CurvePoint
from evaluation.reporting.content import SystemReport
from evaluation.reporting.figures.looks import (
    ACCENT,
    FAINT,
    INK,
    QUIET,
    WRONG,
    bare,
    fitted,
    panel,
    placed,
    svg,
)
from evaluation.reporting.text import plural

_HEIGHT = 2.75
_MARGINS = {"left": 0.48, "right": 0.22, "top": 0.46, "bottom": 0.42}
_MOST_POINTS = 250


def refusal_curve(system: SystemReport, systems: Sequence[SystemReport]) -> str:
    """Wrong answers against answered questions, the other systems' in grey; a dot where the system is."""
    with panel(_HEIGHT) as (figure, axes):
        placed(axes, figure, **_MARGINS)
        highest = max([0.02, *(point.hallucination for each in systems for point in each.curve.risk.points)])
        highest = max([highest, *(each.curve.hallucination for each in systems)]) * 1.12
        for other in systems:
            if other is not system:
                _line(axes, other.curve.risk.points, FAINT, 0.8)
        _line(axes, system.curve.risk.points, ACCENT, 1.8)
        axes.plot(
            [system.curve.coverage], [system.curve.hallucination], marker="o", ms=6, color=WRONG, mec="white"
        )
        axes.set_xlim(0, 1)
        axes.set_ylim(0, highest)
        axes.xaxis.set_major_formatter(_percent)
        axes.yaxis.set_major_formatter(_percent)
        axes.locator_params(nbins=5)
        axes.grid()
        bare(axes, keep="left bottom")
        axes.set_xlabel(f"share answered, of {plural(system.asked, 'question')}", labelpad=3)
        axes.set_title(fitted(system.name), loc="left", size=8.5, weight="bold", pad=17, x=-0.14)
        area = system.curve.risk.aurc
        told = (
            "no answers" if math.isnan(area) else f"share answered wrongly · AURC {area:.3f} · ● as it stands"
        )
        axes.text(-0.14, 1.045, told, transform=axes.transAxes, color=QUIET, size=7)
        return svg(figure, f"refusal-{system.number}", f"Hallucination against coverage of {system.name}")


def _line(axes: Axes, points: Sequence[CurvePoint], colour: str, width: float) -> None:
    """Thinned out to what can be seen."""
    every = max(1, math.ceil(len(points) / _MOST_POINTS))
    kept = [*points[::every], *points[-1:]]
    axes.plot([p.coverage for p in kept], [p.hallucination for p in kept], color=colour, lw=width)


def reliability_diagram(system: SystemReport) -> str:
    """How often answers of a confidence are right; below the diagonal the system is too sure of itself."""
    with panel(_HEIGHT) as (figure, axes):
        placed(axes, figure, **_MARGINS)
        axes.plot([0, 1], [0, 1], color=FAINT, lw=1, ls=(0, (4, 3)))
        bins = system.reliability.bins
        most = max((each.count for each in bins), default=1)
        for each in bins:
            axes.plot([each.confidence] * 2, [each.confidence, each.accuracy], color=WRONG, lw=1, alpha=0.55)
        axes.scatter(
            [each.confidence for each in bins],
            [each.accuracy for each in bins],
            s=[10 + 70 * each.count / most for each in bins],
            color=ACCENT,
            edgecolor="white",
            lw=0.7,
            zorder=3,
        )
        for each in bins:
            _count(axes, each.confidence, each.accuracy, each.count)
        axes.set_xlim(-0.03, 1.03)
        axes.set_ylim(-0.06, 1.1)
        axes.xaxis.set_major_formatter(_percent)
        axes.yaxis.set_major_formatter(_percent)
        axes.locator_params(nbins=5)
        axes.grid()
        bare(axes, keep="left bottom")
        axes.set_xlabel("confidence of the answers given", labelpad=3)
        axes.set_title(fitted(system.name), loc="left", size=8.5, weight="bold", pad=17, x=-0.14)
        error = system.reliability.error
        told = f"share right · calibration error {error:.3f} · n at each dot"
        told = "no answers" if math.isnan(error) else told
        axes.text(-0.14, 1.045, told, transform=axes.transAxes, color=QUIET, size=7)
        return svg(figure, f"reliability-{system.number}", f"Confidence against accuracy of {system.name}")


def _count(axes: Axes, x: float, y: float, count: int) -> None:
    """Away from the diagonal, so that the gap's line does not cross it."""
    above = y >= x or y < 0.1
    axes.annotate(
        f"{count:,}",
        (x, y),
        xytext=(0, 6 if above else -6),
        textcoords="offset points",
        ha="center",
        va="bottom" if above else "top",
        size=6.5,
        color=INK,
    )


def _percent(value: float, _: object) -> str:
    return f"{100 * value:.3g} %"
