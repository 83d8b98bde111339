"""Figures of a report as SVG elements. Needs matplotlib, so this module is imported late."""

import io
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from evaluation.reporting.analysis import Report, SystemReport
from evaluation.reporting.curves import SpanReport
from evaluation.reporting.formatting import READINGS
from evaluation.scoring.spans import Outcomes

RIGHT, SILENT, WRONG, OTHER, INK = "#0072b2", "#c9ced6", "#d55e00", "#7a4b9d", "#1c2430"
"""Colours that colour-blind readers tell apart (Okabe and Ito 2008)."""
_SHARES = (
    ("accuracy", RIGHT),
    ("acceptable", "#7fb8d8"),
    ("missing", SILENT),
    ("hallucination", WRONG),
)
_LOOKS: dict[Any, Any] = {
    "font.size": 7.5,
    "text.parse_math": False,
    "svg.fonttype": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e3e7ec",
}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure. `label`: what it shows, for readers who cannot see it."""

    name: str
    label: str
    svg: str


def drawn(report: Report) -> Mapping[str, tuple[Drawn, ...]]:
    """Return the figures by section: `scores`, `spans`, `refusal`."""
    return {
        "scores": (_verdicts(report),),
        "spans": tuple(_span_curve(each, each.spans) for each in report.systems if each.spans is not None),
        "refusal": tuple(_refusal_curve(each, report) for each in report.systems),
    }


def _verdicts(report: Report) -> Drawn:
    names = [_fitted(system.name) for system in report.systems]
    with _panel(0.7 + 0.3 * len(names)) as (figure, axes):
        starts = [0.0] * len(names)
        for measure, colour in _SHARES:
            estimates = [system.whole.estimates.get(measure) for system in report.systems]
            shares = [each.value if each else 0.0 for each in estimates]
            if any(shares):
                axes.barh(names, shares, left=starts, color=colour, label=READINGS[measure].label)
            starts = [start + share for start, share in zip(starts, shares, strict=True)]
        axes.invert_yaxis()
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False)
        axes.xaxis.set_major_formatter(_percent)
        return _done(figure, "verdicts", "Right, wrong and refused, by system")


def _refusal_curve(system: SystemReport, report: Report) -> Drawn:
    """Draw wrong answers against answered questions, the other systems' in grey."""
    with _panel(2.75) as (figure, axes):
        for each in (*(other for other in report.systems if other is not system), system):
            points = each.curve.points
            points = (*points[:: max(1, math.ceil(len(points) / 250))], *points[-1:])
            colour = RIGHT if each is system else SILENT
            axes.plot([p.coverage for p in points], [p.hallucination for p in points], color=colour)
        axes.plot([system.curve.coverage], [system.curve.hallucination], "o", color=WRONG)
        axes.set(xlim=(0, 1), xlabel="share answered", ylabel="share answered wrongly")
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_formatter(_percent)
        axes.yaxis.set_major_formatter(_percent)
        axes.set_title(_fitted(system.name))
        return _done(figure, f"refusal-{system.number}", f"Hallucination against coverage: {system.name}")


def _span_curve(system: SystemReport, spans: SpanReport) -> Drawn:
    """Draw each outcome over the share of questions answered."""
    steps = [step.outcomes for step in spans.curve]
    lines = (
        ("right", RIGHT, "right"),
        ("wrong", WRONG, "wrong"),
        ("answered", OTHER, "unanswerable answered"),
    )
    with _panel(2.75) as (figure, axes):
        for name, colour, label in lines:
            shares = [0.0, *(getattr(each, name) for each in steps)]
            axes.plot([0.0, *map(_coverage, steps)], shares, color=colour, label=label)
        axes.axvline(_coverage(spans.scores.outcomes), color=INK, lw=0.8, ls="--")
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="share of all questions answered")
        axes.xaxis.set_major_formatter(_percent)
        axes.yaxis.set_major_formatter(_percent)
        axes.legend(loc="upper left", frameon=False)
        axes.set_title(_fitted(system.name))
        return _done(figure, f"spans-{system.number}", f"Outcomes against coverage: {system.name}")


def _coverage(outcomes: Outcomes) -> float:
    has = outcomes.answerable * (outcomes.right + outcomes.wrong) if outcomes.answerable else 0.0
    no = outcomes.unanswerable * outcomes.answered if outcomes.unanswerable else 0.0
    return (has + no) / (outcomes.answerable + outcomes.unanswerable)


@contextmanager
def _panel(height: float) -> Iterator[tuple[Figure, Axes]]:
    """Open a figure of one plot, without any window or global state."""
    with mpl.rc_context(_LOOKS):
        figure = Figure((4.6, height), layout="constrained")
        FigureCanvasSVG(figure)
        yield figure, figure.add_subplot()


def _done(figure: Figure, name: str, label: str) -> Drawn:
    """Return the figure as an element of a page; the same figure gives the same bytes."""
    held = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(held, format="svg", transparent=True, metadata={"Date": None})
    svg = re.sub(r"^.*?(?=<svg)|\s*<metadata>.*?</metadata>", "", held.getvalue(), flags=re.S)
    svg = re.sub(r'(<g) id="[^"]*"', r"\1", svg)
    return Drawn(name, label, svg.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1).strip())


def _fitted(name: str) -> str:
    """Return a name that fits a line: cut in the middle, since names of ablations differ at their ends."""
    return name if len(name) <= 40 else f"{name[:20].rstrip()}…{name[-19:].lstrip()}"


def _percent(value: float, _: object) -> str:
    return f"{100 * value:.3g} %"
