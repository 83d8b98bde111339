"""The trade between answering and being wrong, drawn, and where the chosen thresholds lie on it."""

import io
from collections.abc import Mapping, Sequence

from evaluation.calibration.cutoffs import Cutoffs
from evaluation.calibration.paths import through
from evaluation.calibration.replay import rates, replay
from evaluation.calibration.signals import Signals

_DEV, _TEST = "#0072B2", "#D55E00"  # Okabe and Ito: told apart by everybody
_SIZE_IN = (6.4, 4.2)
_PERCENT = 100.0


def frontier(signals: Signals, chosen: Cutoffs) -> list[tuple[float, float]]:
    """(coverage, hallucination) in 0..1 along the family that leads through the chosen thresholds."""
    points = [rates(replay(signals, cutoffs).points) for cutoffs in through(chosen)]
    return [(point.coverage, point.hallucination) for point in points]


def draw(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    marks: Mapping[str, tuple[float, float]],
    ceiling: float | None,
) -> str:
    """SVG of wrong answers over coverage, in percent. Needs matplotlib.

    `curves` by name, at most two; `marks`: single settings by name.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE_IN, layout="constrained")
    axes = figure.subplots()
    for (name, curve), colour in zip(curves.items(), (_DEV, _TEST), strict=False):
        x, y = ([_PERCENT * value for value in column] for column in zip(*curve, strict=True))
        axes.plot(x, y, color=colour, linewidth=1.6, label=name)
    for (name, (coverage, wrong)), shape in zip(marks.items(), "oDs^", strict=False):
        where = (_PERCENT * coverage, _PERCENT * wrong)
        axes.plot(*where, shape, color="black", markersize=6, label=name, linestyle="none")
    if ceiling is not None:
        axes.axhline(_PERCENT * ceiling, color="0.5", linewidth=0.9, linestyle="--", label="ceiling")
    axes.set_xlabel("questions answered, %")
    axes.set_ylabel("questions answered wrongly, %")
    axes.set_ylim(bottom=0.0)
    axes.grid(color="0.9", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small", loc="upper left")
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()
