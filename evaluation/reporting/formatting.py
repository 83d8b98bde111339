"""Format numbers, untrusted text and photos for display."""

import io
import math
import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from chassis.errors import LoreglassError
from chassis.images import ImageLimits, upright_rgb
from evaluation.scoring.intervals import Estimate


class Unit(StrEnum):
    """The format of a number."""

    SHARE = "share"
    SCORE = "score"
    MILLISECONDS = "ms"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Reading:
    """A measure's label and unit."""

    label: str
    unit: Unit


READINGS: dict[str, Reading] = {
    "truthfulness": Reading("truthfulness", Unit.SCORE),
    "accuracy": Reading("accuracy", Unit.SHARE),
    "acceptable": Reading("acceptable", Unit.SHARE),
    "missing": Reading("missing", Unit.SHARE),
    "hallucination": Reading("hallucination", Unit.SHARE),
    "benchmark_score": Reading("benchmark's score", Unit.SHARE),
    "harmonic_score": Reading("of splits, harmonic", Unit.SHARE),
    "overlap": Reading("overlap", Unit.SHARE),
    "elapsed_mean_ms": Reading("elapsed, mean", Unit.MILLISECONDS),
    "elapsed_p50_ms": Reading("elapsed, p50", Unit.MILLISECONDS),
    "elapsed_p95_ms": Reading("elapsed, p95", Unit.MILLISECONDS),
    "session_truthfulness": Reading("truthfulness by conv.", Unit.SCORE),
    "early_stopped": Reading("conv. given up", Unit.SHARE),
}
"""How measures are shown, by name and in the order of columns."""
OF_CONVERSATIONS = ("session_truthfulness", "early_stopped")
"""Means over conversations; the others are over questions."""


def format_figure(value: float, unit: Unit) -> str:
    """Return `34.5 %`, `+0.123`, `1.24 s`, `340 ms`; a dash if there is no value."""
    if math.isnan(value):
        return "–"
    match unit:
        case Unit.SHARE:
            return f"{100 * value:.1f} %"
        case Unit.SCORE:
            return signed(value)
        case Unit.MILLISECONDS:
            return f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.0f} ms"
        case Unit.COUNT:
            return f"{value:.0f}"


def signed(value: float, digits: int = 3) -> str:
    """Return the number with its sign, a real minus, and no negative zero."""
    rounded = round(value, digits)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else ""
    return f"{sign}{abs(rounded):.{digits}f}"


def format_p_value(value: float) -> str:
    """Return `< 0.001`, `0.042`; a dash if there is no value."""
    return "–" if math.isnan(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"


def span(estimate: Estimate, unit: Unit) -> str:
    """Return the interval: `31.0 % to 38.2 %`."""
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return ""
    return f"{format_figure(estimate.low, unit)} to {format_figure(estimate.high, unit)}"


SHORT, LONG = 160, 900
"""Characters: of a name, a title or a cell; of a question, an answer or a piece of evidence."""

_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn"))
_JOINERS = "\u200c\u200d"  # Persian, Indic scripts and emoji are spelled with them
_SPACES = re.compile(r"\s+")


def clean(text: str, limit: int = LONG) -> str:
    """Return visible text as one paragraph, cut at `limit` characters; a cut states the full length."""
    spaced = _SPACES.sub(" ", text[: 4 * limit]).strip()
    visible = "".join(filter(_is_visible, spaced))
    if len(visible) <= limit and len(text) <= 4 * limit:
        return visible
    return f"{visible[:limit].rstrip()}… ({len(text):,} characters)"


def short(text: str, limit: int = SHORT) -> str:
    """Return visible text for names and cells; a cut ends with an ellipsis."""
    visible = clean(text[: 2 * limit], 2 * limit)
    return visible if len(visible) <= limit else f"{visible[: limit - 1].rstrip()}…"


def _is_visible(letter: str) -> bool:
    """Return whether the character is visible and does not change the direction of the line."""
    return letter in _JOINERS or unicodedata.category(letter) not in _HIDDEN


def plural(count: int, thing: str, things: str | None = None) -> str:
    """Return `1 question`, `2,000 questions`."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


LONGEST_SIDE = 480
_QUALITY = 72


def small_photo(folder: Path, photo: str) -> bytes | None:
    """Return an upright JPEG of at most 480 pixels a side, without metadata.

    `photo`: relative to the run's folder, or where else it lies. None if there is none that can be read.
    """
    try:
        picture = upright_rgb((folder / photo).read_bytes(), ImageLimits(), LONGEST_SIDE)
    except (LoreglassError, OSError, ValueError):
        return None
    held = io.BytesIO()
    picture.save(held, "JPEG", quality=_QUALITY, optimize=True)
    return held.getvalue()
