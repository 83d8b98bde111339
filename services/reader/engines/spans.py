"""The spans of a passage that may answer a question, with what a model gives for each.

The margin of a span is its start and end logit less those of [CLS] in the same window (run_squad's
`null_score_diff`, turned round).
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chassis.models.windows import Window
from language.sentences import Sentence
from services.reader.engine import Passage, PassageKind, Span

Logits = NDArray[np.float32]
"""[2, tokens]: that the answer starts, and that it ends, at each token; at [CLS] that there is none."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """`text[start:end]` of a passage, and the sentences it lies in (one, unless it runs on)."""

    passage: int
    start: int
    end: int
    sentence: Span
    margin: float


def find_candidates(
    window: Window, logits: Logits, passage: Passage, split: Sequence[Sentence], skip: int, longest: int
) -> Iterator[Candidate]:
    """Yield the best span of `longest` tokens that starts in each sentence of the window.

    `skip`: characters of the heading. A span ends in its line, except in print, where answers run on.
    """
    text = passage.text
    places = np.flatnonzero((window.offsets[:, 0] >= skip) & (window.offsets[:, 1] > window.offsets[:, 0]))
    if not len(places) or not split:
        return
    offsets = window.offsets[places] - skip
    starts, ends = logits[0, places].astype(np.float64), logits[1, places].astype(np.float64)
    rows = np.arange(len(places))
    in_print = passage.kind is PassageKind.PHOTO
    lines = np.array([0 if in_print else text.count("\n", 0, start) for start in offsets[:, 0]])
    reach = np.where(
        _following(lines, longest, -1) == lines[:, None], _following(ends, longest, -np.inf), -np.inf
    )
    lengths = reach.argmax(axis=1)
    margins = starts + reach[rows, lengths] - float(logits[:, window.null].sum(dtype=np.float64))
    beginnings = [sentence.start for sentence in split]
    sentence_of = np.maximum(np.searchsorted(beginnings, offsets[:, 0], side="right") - 1, 0)
    for number in np.unique(sentence_of):
        inside = rows[sentence_of == number]
        row = inside[margins[inside].argmax()]
        piece = text[offsets[row, 0] : offsets[row + lengths[row], 1]]
        if not piece.strip():
            continue
        start = int(offsets[row, 0]) + len(piece) - len(piece.lstrip())
        end = start + len(piece.strip())
        last = split[bisect_right(beginnings, end - 1, lo=1) - 1]
        sentence = Span(min(start, split[number].start), max(end, last.end))
        yield Candidate(window.passage, start, end, sentence, float(margins[row]))


def _following(values: NDArray[Any], count: int, beyond: float) -> NDArray[Any]:
    """Return, for each value, it and the next ones, [values, count]; `beyond` the last one."""
    padded = np.concatenate([values, np.full(count - 1, beyond)])
    return np.lib.stride_tricks.sliding_window_view(padded, count)


def overlap(one: Candidate, other: Candidate) -> bool:
    return (
        one.passage == other.passage
        and one.sentence.start < other.sentence.end
        and other.sentence.start < one.sentence.end
    )
