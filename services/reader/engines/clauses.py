"""Chooses the clause of a long sentence that is said, by the cross-encoder's third head."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chassis.models.encoders import CrossEncoder
from chassis.models.windows import SentenceAnswer, Window
from services.reader.engines.spoken import MOST_SPOKEN

_WORD = re.compile(r"\S+")
_ABOUT_AS_LIKELY = 1.0
"""Log odds: of ends that differ by less, the last one, since the answer may go on after the reader's span."""


def find_clauses(
    model: CrossEncoder, question: str, answers: Sequence[SentenceAnswer]
) -> list[SentenceAnswer | None]:
    """Return the clause of each sentence, `MOST_SPOKEN` words at most; None where the model finds none."""
    found = model.read_clauses(question, answers)
    return [_best(each, window, values) for each, (window, values) in zip(answers, found, strict=True)]


def _best(answer: SentenceAnswer, window: Window, values: NDArray[np.float32]) -> SentenceAnswer | None:
    """Return the likeliest run of whole words around the answer; None if none at all is likelier.

    It does not begin in a bracket that it does not end in, nor the other way round. `values`: see
    `training.reader.clauses.ClauseHead`.
    """
    text, offsets = answer.sentence, window.offsets
    inside = np.flatnonzero((offsets[:, 0] >= 0) & (offsets[:, 1] > offsets[:, 0])).tolist()
    first = [token for token in inside if _may_start(text, int(offsets[token, 0]), answer.start)]
    last = [token for token in inside if _may_end(text, int(offsets[token, 1]), answer.end)]
    if not first or not last:
        return None
    starts, ends = offsets[first, 0], offsets[last, 1]
    likely = _scores(values, [window.null, *first], [window.null, *last])
    scores = likely[1:, 1:]
    words = np.array([word.start() for word in _WORD.finditer(text)])
    before, until = words.searchsorted(starts, "right") - 1, words.searchsorted(ends)
    depths = np.cumsum([0, *((character == "(") - (character == ")") for character in text)])
    scores[until - before[:, None] > MOST_SPOKEN] = -np.inf
    scores[depths[ends] != depths[starts][:, None]] = -np.inf
    row = scores.max(axis=1).argmax()
    if scores[row].max() <= likely[0, 0]:
        return None
    column = np.flatnonzero(scores[row] >= scores[row].max() - _ABOUT_AS_LIKELY)[-1]
    start = int(starts[row])
    clause = text[start : int(ends[column])]
    return SentenceAnswer(clause, answer.start - start, answer.end - start)


def _scores(values: NDArray[np.float32], first: list[int], last: list[int]) -> NDArray[np.float32]:
    """Return the logit of each clause from a token of `first` to one of `last`."""
    rank = (values.shape[1] - 2) // 2
    starts, ends = values[first, 2 : 2 + rank], values[last, 2 + rank :]
    return values[first, 0][:, None] + values[last, 1] + starts @ ends.T / np.float32(rank**0.5)


def _may_start(text: str, place: int, answer: int) -> bool:
    return place <= answer and not text[max(0, place - 1) : place].isalnum()


def _may_end(text: str, place: int, answer: int) -> bool:
    return place >= answer and not text[place : place + 1].isalnum()
