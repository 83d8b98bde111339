"""What an answer was made from and held against: quotes found in the evidence, signals beside thresholds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.reporting.text import shown
from loreglass_client.models import Answer, EvidenceSeen, Explanation

_HELD_AGAINST: Mapping[str, tuple[str, ...]] = {
    "draft_confidence": ("direct_confidence",),
    "p_direct": ("direct_from",),
    "p_verify": ("verify_from",),
    "entity_probability": ("same_thing",),
    "evidence_top": ("tau_coarse", "tau_fine"),
    "answer_confidence": ("answer_confidence",),
    "token_min": ("token_min",),
    "token_mean": ("token_mean",),
    "support": ("supported",),
    "judged": ("judged",),
}
"""Which thresholds a signal must reach (several: their product), by the names of answers' explanations."""

_MOST, _AROUND = 700, 220
"""Characters of a piece of evidence that are shown, and before a quote where it must be cut."""


@dataclass(frozen=True, slots=True)
class Check:
    """A signal, and the threshold that it must reach where there is one. `met`: None where there is none."""

    name: str
    value: float
    threshold: float | None

    @property
    def met(self) -> bool | None:
        """Whether it was reached."""
        return None if self.threshold is None else self.value >= self.threshold


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of evidence; `quoted`: the answer's citation is this; `apart`: a space stands before it."""

    text: str
    quoted: bool
    apart: bool = False


def checks(explanation: Explanation) -> list[Check]:
    """All signals in the order of the question's way through the platform, unknown ones last."""
    order = list(_HELD_AGAINST)

    def place(name: str) -> tuple[int, str]:
        return (order.index(name) if name in order else len(order)), name

    return [
        Check(name, explanation.signals[name], _threshold(name, explanation.thresholds))
        for name in sorted(explanation.signals, key=place)
    ]


def _threshold(signal: str, thresholds: Mapping[str, float]) -> float | None:
    names = _HELD_AGAINST.get(signal, ())
    if not names or any(name not in thresholds for name in names):
        return None
    return math.prod(thresholds[name] for name in names)


def marked(piece: EvidenceSeen, answer: Answer) -> Sequence[Mark]:
    """The piece in stretches, the answer's first quote that stands in it marked; long pieces are cut."""
    quotes = (citation.snippet for citation in answer.citations if citation.snippet.strip())
    quote = next((each for each in quotes if each in piece.text), "")
    if not quote:
        return [Mark(shown(piece.text, _MOST), False)]
    start = piece.text.index(quote)
    before, after = piece.text[:start], piece.text[start + len(quote) :]
    if len(before) > _AROUND:
        before = "…" + before[-_AROUND:]
    if len(after) > _AROUND:
        after = after[:_AROUND] + "…"
    told = [
        Mark(before, False),
        Mark(shown(quote, _MOST), True, apart=before[-1:].isspace() or quote[:1].isspace()),
        Mark(after, False, apart=after[:1].isspace() or quote[-1:].isspace()),
    ]
    return [each for each in told if each.text.strip()]
