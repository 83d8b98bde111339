"""One question's trace as bars along time, measured out for the template that draws it."""

from dataclasses import dataclass

from evaluation.reporting.text import short
from loreglass_client.models import Trace

WIDTH, LABELS, TIMES, ROW, HEAD = 440, 118, 58, 16, 16
"""Pixels: of the picture, of the names left, of the figures right, of a row, of the axis above."""
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
_MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class Bar:
    """One stage; pixels from the picture's left and top. `kind`: done, failed, or other."""

    stage: str
    told: str
    kind: str
    x: float
    width: float
    y: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """`marks`: positions and words of the axis."""

    bars: tuple[Bar, ...]
    marks: tuple[tuple[float, str], ...]
    height: int
    told: str
    width: int = WIDTH
    labels: int = LABELS
    head: int = HEAD
    row: int = ROW


def timeline(trace: Trace) -> Timeline:
    """In the order in which the stages began."""
    steps = sorted(trace.stages, key=lambda step: step.start_ms)[:_MOST_ROWS]
    end = max([1.0, trace.total_ms, *(step.start_ms + step.ms for step in steps)])
    room = WIDTH - LABELS - TIMES
    bars = tuple(
        Bar(
            stage=short(step.stage.replace("_", " "), 20),
            told=_ms(step.ms) if step.state == "done" else short(step.state, 12),
            kind=step.state if step.state in ("done", "failed") else "other",
            x=round(LABELS + room * max(0.0, step.start_ms) / end, 1),
            width=round(max(1.0, room * max(0.0, step.ms) / end), 1),
            y=HEAD + place * ROW,
        )
        for place, step in enumerate(steps)
    )
    every = next((step for step in _STEPS if end / step <= 4), end)
    marks = tuple(
        (round(LABELS + room * at / end, 1), _ms(at)) for at in (every * n for n in range(5)) if at <= end
    )
    told = f"Stages of the question, {_ms(trace.total_ms)} in all"
    return Timeline(bars, marks, HEAD + len(bars) * ROW + 4, told)


def _ms(ms: float) -> str:
    if ms >= 1000:
        return f"{ms / 1000:.2f}".rstrip("0").rstrip(".") + " s"
    return f"{ms:.0f} ms"
