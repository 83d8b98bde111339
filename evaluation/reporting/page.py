"""Write a report: `report.html` and `report.json`. Needs Jinja2.

The template cleans and escapes every value that is not our own markup. In report.json rates are in 0..1,
times in milliseconds, unknown values null.
"""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pydantic import TypeAdapter

from evaluation.reporting.analysis import Report
from evaluation.reporting.curves import Curve
from evaluation.reporting.formatting import (
    OF_CONVERSATIONS,
    READINGS,
    Unit,
    clean,
    format_figure,
    format_p_value,
    plural,
    short,
    signed,
    span,
)
from evaluation.scoring.intervals import Estimate

_TEMPLATES = Path(__file__).parent / "templates"


def write_files(report: Report, folder: Path) -> Path:
    """Write `report.html`, which needs no other file, and `report.json`; return the page."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "report.html"
    for path, text in ((folder / "report.json", numbers(report)), (page, html(report))):
        path.write_text(text, encoding="utf-8", newline="\n")
    return page


def html(report: Report) -> str:
    """Return one page with figures and photos inside and no script."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "short": short,
        "when": _when,
        "ms": lambda value: format_figure(value, Unit.MILLISECONDS),
        "share": lambda value: format_figure(value, Unit.SHARE),
        "signed": signed,
        "p": format_p_value,
        "whole": lambda value: format_figure(value, Unit.COUNT),
        "plain": lambda value: f"{value:.3f}" if value == value else "–",
        "counts": _counts,
        "jpeg": _jpeg,
    }
    return environment.get_template("report.html.j2").render(_values(report)) + "\n"


def _escape(value: Any) -> Any:
    return value if isinstance(value, Markup) else clean(str(value))


def _values(report: Report) -> dict[str, Any]:
    parts = [part.part for part in report.systems[0].parts]
    shown_parts = parts[:1] if len(parts) == 2 else parts
    curves = [system.curve for system in report.systems]
    most = max(
        share for each in curves for share in (each.hallucination, *(p.hallucination for p in each.points))
    )
    return {
        "report": report,
        "most_wrong": most or 1.0,
        "line": _line,
        "parts": shown_parts,
        "part_names": {"single": "Single questions", "multi": "Conversations", "all": "All questions"},
        "columns": {part: _columns(report, part) for part in shown_parts},
        "readings": READINGS,
        "spans": [(system, system.spans) for system in report.systems if system.spans],
        "tint": _tint,
        "value": _value,
        "span": _span,
        "plural": plural,
    }


def _line(curve: Curve, most_wrong: float) -> Markup:
    """Return the points of a polyline in a square of 100 by 100: answered wrongly over answered."""
    points = (*curve.points[:: len(curve.points) // 250 + 1], *curve.points[-1:])
    places = ((100 * each.coverage, 100 - 100 * each.hallucination / most_wrong) for each in points)
    return Markup(" ".join(f"{across:.2f},{down:.2f}" for across, down in places))


def _columns(report: Report, part: str) -> list[str]:
    parts = [each for system in report.systems for each in system.parts if each.part == part]
    there = {measure for each in parts for measure in each.estimates}
    left_out = () if part == "multi" else OF_CONVERSATIONS
    return [measure for measure in READINGS if measure in there and measure not in left_out]


def _value(estimates: Mapping[str, Estimate], measure: str) -> str:
    return format_figure(estimates[measure].value, READINGS[measure].unit) if measure in estimates else "–"


def _span(estimates: Mapping[str, Estimate], measure: str) -> str:
    return span(estimates[measure], READINGS[measure].unit) if measure in estimates else ""


def _tint(truthfulness: float) -> str:
    """Return a CSS class: five steps in each direction, so that neighbours can be distinguished."""
    step = min(5, round(abs(truthfulness) * 5 + 0.49)) if truthfulness else 0
    return "t0" if step == 0 else f"{'g' if truthfulness > 0 else 'b'}{step}"


def _jpeg(photo: bytes) -> Markup:
    return Markup("data:image/jpeg;base64," + base64.b64encode(photo).decode("ascii"))


def _when(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC" if seconds else "not said"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{short(name, 60)} {count:,}" for name, count in sorted(counts.items())) or "none"


def numbers(report: Report) -> str:
    """The report as one JSON object. Questions and answers are as they are: who reads the file decides how to
    show them.
    """
    left_out: Any = {"failures": {"__all__": {"photo": True, "failure": {"outcome": True}}}}
    dumped = TypeAdapter(Report).dump_json(report, indent=1, exclude=left_out)
    return dumped.decode() + "\n"
