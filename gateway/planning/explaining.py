"""The explanation of a reply, for measurements (`Experiment.explain`).

An explanation goes into the reply that asked for it and nowhere else: it is never stored, logged or traced.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import islice
from math import isfinite

from chassis.json_text import sendable
from contracts.answer import EvidenceSeen, Explanation, ModelCall, Note, SearchResult
from gateway.planning.stages import Stage
from gateway.state import Entity, Evidence
from gateway.thresholds import VERSION, Thresholds

MAX_EVIDENCE, EVIDENCE_CHARS = 32, 2_000
MAX_NOTES, NOTE_CHARS = 64, 1_000
MAX_FOUND = 256
TEXT_CHARS = 8_192


class Explaining:
    """Notes down what it is told, within bounds; `SILENT` notes nothing. A name's later signal counts."""

    def __init__(self, *, enabled: bool = True) -> None:
        self.enabled = enabled
        self._draft: str | None = None
        self._answer: str | None = None
        self._signals: dict[str, float] = {}
        self._evidence: list[EvidenceSeen] = []
        self._notes: list[Note] = []
        self._results: list[SearchResult] = []

    def signal(self, name: str, value: float | None) -> None:
        """A number that thresholds are held against; None was not measured, and NaN is no number."""
        if self.enabled and value is not None and isfinite(value):
            self._signals[name] = value

    def note(self, stage: Stage, text: str | Iterable[str]) -> None:
        """Note the result of a stage in words; several are joined only if an explanation is wanted."""
        if self.enabled and len(self._notes) < MAX_NOTES:
            words = text if isinstance(text, str) else "; ".join(text)
            self._notes.append(Note(stage=stage.value, text=_sendable(words or "none", NOTE_CHARS)))

    def draft(self, text: str | None, confidence: float | None) -> None:
        """The provisional answer. Signal: `draft_confidence`, if it was measured."""
        if self.enabled:
            self._draft = None if text is None else _sendable(text, TEXT_CHARS)
        self.signal("draft_confidence", confidence)

    def set_answer(self, text: str | None) -> None:
        """The answer in hand at the end, whether it is given or withheld."""
        if self.enabled:
            self._answer = None if text is None else _sendable(text, TEXT_CHARS)

    def evidence(self, items: Sequence[Evidence]) -> None:
        """Set the evidence of the answer, best first; it replaces earlier evidence."""
        if self.enabled:
            self._evidence = [_evidence_seen(item) for item in items[:MAX_EVIDENCE]]

    def add_results(self, stage: Stage, results: Iterable[Entity | Evidence]) -> None:
        """Add the results of a search, best first."""
        if self.enabled:
            room = MAX_FOUND - len(self._results)
            self._results += [_result(stage, result) for result in islice(results, room)]

    def to_explanation(
        self, thresholds: Thresholds | None, model_calls: Sequence[ModelCall] = ()
    ) -> Explanation | None:
        """All of it, as known by now; None unless it was asked for. `thresholds`: those in force."""
        if not self.enabled:
            return None
        values = asdict(thresholds) if thresholds else {}
        return Explanation(
            draft=self._draft,
            proposed=self._answer,
            signals=dict(self._signals),
            evidence=list(self._evidence),
            notes=list(self._notes),
            found=list(self._results),
            thresholds={name: value for name, value in values.items() if name != VERSION},
            model_calls=list(model_calls),
        )


SILENT = Explaining(enabled=False)
"""For everybody who did not ask; it keeps nothing, so all may share it."""


def _evidence_seen(item: Evidence) -> EvidenceSeen:
    return EvidenceSeen(
        text=_sendable(item.text, EVIDENCE_CHARS),
        title=_sendable(item.title, NOTE_CHARS),
        url=_sendable(item.url, EVIDENCE_CHARS),
        kind=item.kind,
        score=item.score,
    )


def _result(stage: Stage, result: Entity | Evidence) -> SearchResult:
    title, text = (result.name, "") if isinstance(result, Entity) else (result.title, result.text)
    return SearchResult(
        stage=stage.value,
        title=_sendable(title, NOTE_CHARS),
        url=_sendable(result.url, EVIDENCE_CHARS),
        text=_sendable(text, EVIDENCE_CHARS),
    )


def _sendable(text: str, most: int) -> str:
    return sendable(text[:most])
