"""Verifies by reading: how probable the project's cross-encoder finds spans that the answer says.

The model reads the question beside the evidence as the reader does. Support is the share of its best span
among those whose words the answer has, against its best span of all and against "no answer".
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chassis.calibration import LogisticCurve
from chassis.models.encoders import CrossEncoder, Reading, shared_cross_encoder
from chassis.models.windows import Window, question_text
from contracts.verifier import CheckName
from services.verifier.engine import NO_SIGNALS, CheckOutcome, ModelSignals, Span, Verdict, Verifier
from services.verifier.engines.certainty import certainty_of

FEATURES = ("agreeing", "best", "answers")
_WORD = re.compile(r"\w+")
_SPAN_TOKENS = 30
_LEAST = -20.0
_UNSUPPORTED = "The evidence does not say this."


@dataclass(frozen=True, slots=True)
class Support:
    """Log odds over "no answer" of the best span that the answer says, and of the best span of all.

    `answers`: log odds that the passage answers; `span`: characters of the agreeing one, of `passage`.
    """

    passage: int
    span: tuple[int, int]
    agreeing: float
    best: float
    answers: float

    def vector(self) -> list[float]:
        """The features in the order of `FEATURES`."""
        return [self.agreeing, self.best, self.answers]


class BuiltinVerifier(Verifier):
    """`Verifier` by the model that came with the platform."""

    def __init__(self) -> None:
        self._model = shared_cross_encoder()
        self._curve = LogisticCurve.from_json(self._model.card["verifier"], FEATURES)
        self.name = self._model.name

    def verify(
        self,
        question: str,
        answer: str,
        evidence: Sequence[str],
        entity: str | None,
        signals: ModelSignals = NO_SIGNALS,
    ) -> Verdict:
        """See the protocol. Signals of models are a second opinion: they can only lower the probability."""
        verdict = self._read(question, answer, evidence, entity)
        certainty = certainty_of(signals)
        if certainty is None:
            return verdict
        return Verdict(
            min(verdict.probability, certainty.probability),
            verdict.span,
            (*verdict.checks, *certainty.checks),
            refused=not certainty.accepted,
            by_evidence=verdict.probability,
        )

    def _read(self, question: str, answer: str, evidence: Sequence[str], entity: str | None) -> Verdict:
        support = measure_support(self._model, question_text(question, entity), answer, evidence)
        probability = self._curve.probability(support.vector()) if support else 0.0
        span = Span(support.passage, *support.span) if support else None
        passed = probability >= 0.5
        check = CheckOutcome(CheckName.TERMS, passed, "" if passed else _UNSUPPORTED)
        return Verdict(probability, span, (check,), by_evidence=probability)


def measure_support(
    model: CrossEncoder, question: str, answer: str, evidence: Sequence[str]
) -> Support | None:
    """Return what supports the answer best; None if no word of it stands in the evidence."""
    words = _words(answer)
    numbers = {word for word in words if any(map(str.isdigit, word))} - _words(question)
    windows = model.windows(question, evidence)
    candidates = [
        each
        for window, reading in zip(windows, model.read(windows), strict=True)
        if (each := _support(window, reading, evidence[window.passage], words, numbers))
    ]
    if not candidates:
        return None
    most = max(each.best for each in candidates)
    chosen = max(candidates, key=lambda each: each.agreeing)
    return Support(chosen.passage, chosen.span, chosen.agreeing, max(most, chosen.agreeing), chosen.answers)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _support(
    window: Window, reading: Reading, text: str, words: set[str], numbers: set[str]
) -> Support | None:
    """Return the window's support; None if it has no word of the answer. `numbers`: that it must have."""
    places = np.flatnonzero(window.offsets[:, 1] > window.offsets[:, 0])
    if not len(places):
        return None
    in_answer = _characters_in_answer(text, words)
    agrees = np.array([in_answer[start:end].all() for start, end in window.offsets[places]])
    edges = agrees & [text[start:end].isalnum() for start, end in window.offsets[places]]
    if not edges.any():
        return None
    starts, ends = (reading.spans[side, places].astype(np.float64) for side in (0, 1))
    null = float(reading.spans[:, window.null].sum())
    best, _ = _best_span(starts, ends, np.ones(len(places), bool))
    first_of, last_of = (np.where(edges, each, -np.inf) for each in (starts, ends))
    agreeing, (first, last) = _best_span(first_of, last_of, agrees)
    span = (int(window.offsets[places[first], 0]), int(window.offsets[places[last], 1]))
    agreeing = max(agreeing - null, _LEAST) if numbers <= _words(text) else _LEAST
    return Support(window.passage, span, agreeing, best - null, reading.answers)


def _characters_in_answer(text: str, words: set[str]) -> NDArray[np.bool_]:
    """Return for each character whether it is in a word that the answer has, or in no word."""
    marks = np.ones(len(text) + 1, bool)
    for word in _WORD.finditer(text):
        marks[word.start() : word.end()] = word.group().casefold() in words
    return marks


def _best_span(
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
    allowed: NDArray[np.bool_],
) -> tuple[float, tuple[int, int]]:
    """Return the highest sum of a start and an end with only allowed tokens between them, and the places."""
    best, place = -math.inf, (0, 0)
    for first in np.flatnonzero(allowed):
        reach = allowed[first : first + _SPAN_TOKENS]
        length = len(reach) if reach.all() else int(reach.argmin())
        last = int(first) + int(ends[first : first + length].argmax())
        if starts[first] + ends[last] > best:
            best, place = float(starts[first] + ends[last]), (int(first), last)
    return best, place
