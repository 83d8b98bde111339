"""What is right, wrong, and answered without there being an answer, as more and more is answered."""

from matplotlib.axes import Axes

from evaluation.reporting.content import SystemReport
from evaluation.reporting.figures.looks import (
    INK,
    QUIET,
    RIGHT,
    SECOND,
    WRONG,
    bare,
    fitted,
    panel,
    placed,
    svg,
)
from evaluation.reporting.spans import SpanReport
from evaluation.scoring.spans import Outcomes

_HEIGHT = 2.75
_MARGINS = {"left": 0.48, "right": 0.22, "top": 0.46, "bottom": 0.42}
_LINES = (("right", RIGHT), ("wrong", WRONG), ("answered", SECOND))
_TOLD = {"right": "right", "wrong": "wrong", "answered": "unanswerable answered"}


def span_curve(system: SystemReport, spans: SpanReport) -> str:
    """A line for each outcome over the share of the questions that is answered; dots: operating points."""
    with panel(_HEIGHT) as (figure, axes):
        placed(axes, figure, **_MARGINS)
        steps = [step.outcomes for step in spans.curve]
        for name, colour in _LINES:
            shares = [100 * getattr(found, name) for found in steps]
            axes.plot([0.0, *map(_coverage, steps)], [0.0, *shares], color=colour, lw=1.5, label=_TOLD[name])
            _dots(axes, [point.outcomes for point in spans.points], name, colour)
        now = spans.scores.outcomes
        axes.axvline(_coverage(now), color=INK, lw=0.8, ls=(0, (2, 3)))
        axes.set_xlim(0, 100)
        axes.set_ylim(0, 100)
        axes.locator_params(nbins=5)
        axes.grid()
        bare(axes, keep="left bottom")
        axes.set_xlabel("% of all questions answered", labelpad=3)
        axes.legend(loc="upper left", frameon=False, fontsize=7, labelcolor=INK)
        axes.set_title(fitted(system.name), loc="left", size=8.5, weight="bold", pad=17, x=-0.14)
        told = "% of those with an answer, or without · ● calibrate · dashed: as it stands"
        axes.text(-0.14, 1.045, told, transform=axes.transAxes, color=QUIET, size=7)
        return svg(figure, f"spans-{system.number}", f"Outcomes against coverage of {system.name}")


def _dots(axes: Axes, points: list[Outcomes], name: str, colour: str) -> None:
    shares = [100 * getattr(found, name) for found in points]
    axes.scatter([*map(_coverage, points)], shares, s=16, color=colour, edgecolor="white", lw=0.6, zorder=3)


def _coverage(found: Outcomes) -> float:
    """The share of all questions that gets an answer, in percent."""
    has = found.answerable * (found.right + found.wrong) if found.answerable else 0.0
    no = found.unanswerable * found.answered if found.unanswerable else 0.0
    return 100 * (has + no) / (found.answerable + found.unanswerable)
