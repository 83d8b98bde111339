"""Chooses the clause of a long sentence that is said, by the cross-encoder's third head."""

import re
from collections.abc import Sequence
from functools import partial

import numpy as np

from chassis.models.encoders import CrossEncoder, Logits, Marked
from chassis.models.windows import Window
from services.reader.engine import Span
from services.reader.engines.spoken import MOST_SPOKEN, FindClauses

_WORD = re.compile(r"\S+")
_ABOUT_AS_LIKELY = 1.0
"""Log odds: of ends that differ by less, the last one, since the answer may go on after the reader's span."""


def clause_finder(model: CrossEncoder) -> FindClauses:
    """Return a function that finds the clauses of several sentences that answer one question."""
    return partial(find_clauses, model)


def find_clauses(
    model: CrossEncoder, question: str, answers: Sequence[tuple[str, Span]]
) -> list[Span | None]:
    """Return the clause of each sentence, `MOST_SPOKEN` words at most; None where the model finds none.

    `answers`: sentences, each with the place of its answer.
    """
    marked = [Marked(sentence, span.start, span.end) for sentence, span in answers]
    found = model.find_clauses(question, marked)
    return [_best(each, window, logits) for each, (window, logits) in zip(marked, found, strict=True)]


def _best(answer: Marked, window: Window, logits: Logits) -> Span | None:
    """Return the likeliest run of whole words around the answer; None if none at all is likelier.

    It does not begin in a bracket that it does not end in, nor the other way round.
    """
    text, offsets = answer.sentence, window.offsets
    inside = np.flatnonzero((offsets[:, 0] >= 0) & (offsets[:, 1] > offsets[:, 0]))
    first = [token for token in inside if _may_start(text, int(offsets[token, 0]), answer.start)]
    last = [token for token in inside if _may_end(text, int(offsets[token, 1]), answer.end)]
    if not first or not last:
        return None
    starts, ends = offsets[first, 0], offsets[last, 1]
    scores = logits[first, 0][:, None] + logits[last, 1] + _products(logits[first], logits[last])
    words = np.array([word.start() for word in _WORD.finditer(text)])
    before, until = words.searchsorted(starts, "right") - 1, words.searchsorted(ends)
    depths = np.cumsum([0, *((character == "(") - (character == ")") for character in text)])
    scores[until - before[:, None] > MOST_SPOKEN] = -np.inf
    scores[depths[ends] != depths[starts][:, None]] = -np.inf
    row = scores.max(axis=1).argmax()
    best = scores[row].max()
    none = logits[[window.null]]
    if best <= none[0, :2].sum() + _products(none, none)[0, 0]:
        return None
    column = np.flatnonzero(scores[row] >= best - _ABOUT_AS_LIKELY)[-1]
    return Span(int(starts[row]), int(ends[column]))


def _products(starts: Logits, ends: Logits) -> Logits:
    """Return how well each start and each end belong together, [starts, ends]."""
    rank = (starts.shape[1] - 2) // 2
    return starts[:, 2 : 2 + rank] @ ends[:, 2 + rank :].T / np.float32(rank**0.5)


def _may_start(text: str, place: int, answer: int) -> bool:
    return place <= answer and not text[max(0, place - 1) : place].isalnum()


def _may_end(text: str, place: int, answer: int) -> bool:
    return place >= answer and not text[place : place + 1].isalnum()
