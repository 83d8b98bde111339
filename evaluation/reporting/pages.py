"""A report as HTML and as Markdown; whatever was asked, answered or found is shown as text and nothing else.

Needs Jinja2. Both templates clean and escape every value on its way out, unless it is markup of ours.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evaluation.reporting.content import Report, ShownFailure
from evaluation.reporting.drawing import Drawn
from evaluation.reporting.evidence import checks, marked
from evaluation.reporting.readings import OF_CONVERSATIONS, READINGS, MeasureName, Unit, signed, span, written
from evaluation.reporting.text import plural, short, shown
from evaluation.reporting.timeline import Timeline, timeline

_TEMPLATES = Path(__file__).parent / "templates"
_PUNCTUATION = re.compile(r"([\\`*_{}\[\]()#|~!@$:])|(?<=\b[wW]{3})(\.)")
_COLUMNS = (
    MeasureName.TRUTHFULNESS,
    MeasureName.ACCURACY,
    MeasureName.ACCEPTABLE,
    MeasureName.MISSING,
    MeasureName.HALLUCINATION,
    MeasureName.OVERLAP,
    MeasureName.ELAPSED_MEAN_MS,
    MeasureName.ELAPSED_P50_MS,
    MeasureName.ELAPSED_P95_MS,
)


def html(report: Report, figures: Mapping[str, Sequence[Drawn]]) -> str:
    """One file that needs no other: figures and photos are inside, and there is no script."""
    environment = _environment(_for_html)
    environment.filters["jpeg"] = _jpeg
    return environment.get_template("report.html.j2").render(_values(report, figures, environment)) + "\n"


def markdown(report: Report, figures: Mapping[str, Sequence[Drawn]]) -> str:
    """With links to `figures/<name>.svg`, and of failure n to `figures/failure-<n>.jpg` and `.svg`."""
    environment = _environment(_for_markdown)
    text = environment.get_template("report.md.j2").render(_values(report, figures, environment))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def failure_timelines(report: Report) -> dict[int, str]:
    """The traces of the failures as SVG, by the failure's number from 1, where a trace was kept."""
    environment = _environment(_for_html)
    drawn = {number: _timeline(each, environment) for number, each in enumerate(report.failures, 1)}
    return {number: str(svg) for number, svg in drawn.items() if svg}


def _environment(written_out: Any) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=written_out,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "short": short,
        "when": _when,
        "ms": lambda value: written(value, Unit.MILLISECONDS),
        "share": lambda value: written(value, Unit.SHARE),
        "signed": signed,
        "p": _p,
        "whole": lambda value: f"{value:.0f}" if value == value else "–",
        "plain": lambda value: f"{value:.3f}" if value == value else "–",
        "counts": _counts,
    }
    return environment


def _for_html(value: Any) -> Any:
    return value if isinstance(value, Markup) else shown(str(value))


def _for_markdown(value: Any) -> Markup:
    """Backslashes before what Markdown would read as more than text; entities for what HTML would."""
    if isinstance(value, Markup):
        return value
    escaped = _PUNCTUATION.sub(r"\\\1\2", shown(str(value)))
    return Markup(escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def _values(
    report: Report, figures: Mapping[str, Sequence[Drawn]], environment: Environment
) -> dict[str, Any]:
    parts = [part.part for part in report.systems[0].parts]
    shown_parts = parts[:1] if len(parts) == 2 else parts
    return {
        "report": report,
        "figures": {
            section: [(each, Markup(each.svg)) for each in drawn] for section, drawn in figures.items()
        },
        "parts": shown_parts,
        "part_names": {"single": "Single questions", "multi": "Conversations", "all": "All questions"},
        "columns": {part: _columns(report, part) for part in shown_parts},
        "readings": READINGS,
        "spans": [(system, system.spans) for system in report.systems if system.spans],
        "stages": _stage_names(report),
        "tint": _tint,
        "value": _value,
        "span": _span,
        "checks": checks,
        "marked": marked,
        "timelines": {number: _timeline(each, environment) for number, each in enumerate(report.failures, 1)},
        "plural": plural,
    }


def _columns(report: Report, part: str) -> list[MeasureName]:
    wanted = (*_COLUMNS, *(OF_CONVERSATIONS if part == "multi" else ()))
    there = {
        measure
        for system in report.systems
        for each in system.parts
        if each.part == part
        for measure in each.estimates
    }
    return [measure for measure in wanted if measure in there]


def _value(estimates: Mapping[MeasureName, Any], measure: MeasureName) -> str:
    return written(estimates[measure].value, READINGS[measure].unit) if measure in estimates else "–"


def _span(estimates: Mapping[MeasureName, Any], measure: MeasureName) -> str:
    return span(estimates[measure], READINGS[measure].unit) if measure in estimates else ""


def _stage_names(report: Report) -> list[str]:
    """All systems' stages in the first's order; those of others only after the stage they follow there."""
    order: list[str] = []
    for system in report.systems:
        place = 0
        for times in system.stages:
            if times.stage in order:
                place = order.index(times.stage) + 1
            else:
                order.insert(place, times.stage)
                place += 1
    return order


def _tint(truthfulness: float) -> str:
    """A class of the style sheet: five steps either way, so that neighbours can be told apart."""
    step = min(5, round(abs(truthfulness) * 5 + 0.49)) if truthfulness else 0
    return "t0" if step == 0 else f"{'g' if truthfulness > 0 else 'b'}{step}"


def _timeline(each: ShownFailure, environment: Environment) -> Markup | str:
    trace = each.failure.record.trace
    if trace is None or not trace.stages:
        return ""
    drawn: Timeline = timeline(trace)
    return Markup(environment.get_template("timeline.svg.j2").render(line=drawn).strip())


def _jpeg(photo: bytes) -> Markup:
    return Markup("data:image/jpeg;base64," + base64.b64encode(photo).decode("ascii"))


def _when(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC" if seconds else "not said"


def _p(value: float) -> str:
    if value != value:
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{short(name, 60)} {count:,}" for name, count in sorted(counts.items())) or "none"
