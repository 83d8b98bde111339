"""All figures of a report, by name and in order."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evaluation.reporting.content import Report
from evaluation.reporting.readings import READINGS, MeasureName

_SHOWN = (
    MeasureName.TRUTHFULNESS,
    MeasureName.HALLUCINATION,
    MeasureName.ACCURACY,
    MeasureName.MISSING,
    MeasureName.OVERLAP,
    MeasureName.ELAPSED_MEAN_MS,
    MeasureName.ELAPSED_P95_MS,
    MeasureName.EARLY_STOPPED,
    MeasureName.TURNS_SUCCEEDED,
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """`name` is also its file's; `told`: what it shows, for those who cannot see it."""

    name: str
    told: str
    svg: str


def drawn(report: Report) -> Mapping[str, tuple[Drawn, ...]]:
    """By section: `scores`, `spans`, `stages`, `refusal`, `reliability`. Needs matplotlib."""
    return {
        "spans": tuple(_spans(report)),
        "scores": tuple(_scores(report)),
        "stages": tuple(_stages(report)),
        "refusal": tuple(_refusal(report)),
        "reliability": tuple(_reliability(report)),
    }


def _scores(report: Report) -> Iterator[Drawn]:
    from evaluation.reporting.figures.scores import intervals, verdicts

    yield Drawn("verdicts", "What became of all questions", verdicts(report.systems))
    for measure in _SHOWN:
        if any(measure in part.estimates for system in report.systems for part in system.parts):
            name = f"intervals-{measure.value.replace('_', '-')}"
            yield Drawn(name, f"{READINGS[measure].label} of each system", intervals(report.systems, measure))


def _spans(report: Report) -> Iterator[Drawn]:
    from evaluation.reporting.figures.spans import span_curve

    for system in report.systems:
        if system.spans is not None:
            told = f"Right, wrong and unanswerable answered as more is answered: {system.name}"
            yield Drawn(f"spans-{system.number}", told, span_curve(system, system.spans))


def _stages(report: Report) -> Iterator[Drawn]:
    from evaluation.reporting.figures.stages import stage_boxes

    longest = max((times.p95 for system in report.systems for times in system.stages), default=0.0)
    for system in report.systems:
        if system.stages:
            told = f"Milliseconds of each stage: {system.name}"
            yield Drawn(f"stages-{system.number}", told, stage_boxes(system, longest))


def _refusal(report: Report) -> Iterator[Drawn]:
    from evaluation.reporting.figures.confidence import refusal_curve

    for system in report.systems:
        told = f"Hallucination against coverage: {system.name}"
        yield Drawn(f"refusal-{system.number}", told, refusal_curve(system, report.systems))


def _reliability(report: Report) -> Iterator[Drawn]:
    from evaluation.reporting.figures.confidence import reliability_diagram

    for system in report.systems:
        told = f"Confidence against accuracy: {system.name}"
        yield Drawn(f"reliability-{system.number}", told, reliability_diagram(system))
