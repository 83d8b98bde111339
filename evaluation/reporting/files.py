"""A report on disk: the page, its Markdown twin with figures and photos beside it, and the numbers."""

from pathlib import Path

from evaluation.reporting.content import Report
from evaluation.reporting.drawing import drawn
from evaluation.reporting.numbers import numbers
from evaluation.reporting.pages import failure_timelines, html, markdown

FIGURES = "figures"
_OURS = ("verdicts", "intervals-*", "stages-*", "refusal-*", "reliability-*", "spans-*", "failure-*")


def write_files(report: Report, folder: Path) -> Path:
    """`report.html`, `report.md`, `report.json` and `figures/`, an older one's removed; returns the page."""
    figures = drawn(report)
    beside = folder / FIGURES
    beside.mkdir(parents=True, exist_ok=True)
    for old in (old for name in _OURS for kind in ("svg", "jpg") for old in beside.glob(f"{name}.{kind}")):
        old.unlink()
    for each in (each for section in figures.values() for each in section):
        _write(beside / f"{each.name}.svg", each.svg)
    for number, svg in failure_timelines(report).items():
        _write(beside / f"failure-{number}.svg", svg)
    for number, shown in enumerate(report.failures, 1):
        if shown.photo:
            (beside / f"failure-{number}.jpg").write_bytes(shown.photo)
    _write(folder / "report.json", numbers(report))
    _write(folder / "report.md", markdown(report, figures))
    page = folder / "report.html"
    _write(page, html(report, figures))
    return page


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
