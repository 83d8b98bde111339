"""Reads with a question-answering model: its best spans, and whether it prefers them to no answer.

The margin of a span is its start and end logit less those of [CLS] in the same window (run_squad's
`null_score_diff`, turned round). Runs in a bare torch + transformers environment.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from language.sentences import Sentence, sentences
from services.reader.engine import Answer, Passage, Query, Span
from services.reader.engines.pocket import question_about
from services.reader.engines.windows import Logits, QuestionAnsweringModel, Window
from services.reader.spoken import spoken

Forward = Callable[[Sequence[Window]], Sequence[Logits]]

_NEGLIGIBLE = 0.01
"""Below this probability a span is not worth sending: no caller answers at one in a hundred."""


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """`answer_tokens`: of the longest span, 30 in run_squad. `temperature` divides the margin.

    A margin is the sum of two log odds, of the start and of the end; both tell of the same decision, so their
    mean, temperature 2, is the untuned guess. On weights of your own, fit it to questions of your own.
    """

    answer_tokens: int = 30
    temperature: float = 2.0


@dataclass(frozen=True, slots=True)
class _Candidate:
    """`text[start:end]` of a passage, the sentences it lies in (one, unless it runs on), and its margin."""

    passage: int
    start: int
    end: int
    sentence: Span
    margin: float


class ExtractiveReader:
    """`Reader` by a question-answering model; `forward` is its own or one shared with other callers."""

    def __init__(
        self,
        model: QuestionAnsweringModel,
        forward: Forward | None = None,
        options: ReadingOptions | None = None,
    ) -> None:
        self._model = model
        self._forward = forward or model.forward
        self._options = options or ReadingOptions()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    def read(self, query: Query, passages: Sequence[Passage], top_n: int = 1) -> list[Answer]:
        """See the protocol. What was said earlier in the conversation is not read."""
        asked = question_about(query)
        headings = [heading(passage) for passage in passages]
        texts = [head + passage.text for head, passage in zip(headings, passages, strict=True)]
        # Windows of like length side by side: little of a batch is padding.
        windows = sorted(self._model.windows(asked, texts), key=lambda window: len(window.ids))
        split = [sentences(passage.text) for passage in passages]
        candidates = [
            candidate
            for window, logits in zip(windows, self._forward(windows), strict=True)
            for candidate in _candidates(
                window,
                logits,
                passages[window.passage].text,
                split[window.passage],
                len(headings[window.passage]),
                self._options.answer_tokens,
            )
        ]
        return [self._answer(query, passages, best) for best in self._best(candidates, top_n)]

    def _best(self, candidates: Sequence[_Candidate], top_n: int) -> list[_Candidate]:
        """The highest margins, of sentences that do not overlap."""
        chosen: list[_Candidate] = []
        for candidate in sorted(candidates, key=lambda each: (-each.margin, each.passage, each.start)):
            if len(chosen) == top_n or self._probability(candidate.margin) < _NEGLIGIBLE:
                break
            if not any(_overlap(candidate, other) for other in chosen):
                chosen.append(candidate)
        return chosen

    def _answer(self, query: Query, passages: Sequence[Passage], found: _Candidate) -> Answer:
        passage = passages[found.passage]
        sentence = passage.text[found.sentence.start : found.sentence.end]
        span = passage.text[found.start : found.end]
        return Answer(
            passage=found.passage,
            span=Span(found.start, found.end),
            sentence=found.sentence,
            spoken=spoken(query.question, sentence, span, query.subject, passage.title),
            probability=self._probability(found.margin),
        )

    def _probability(self, margin: float) -> float:
        return 0.5 + 0.5 * math.tanh(margin / self._options.temperature / 2)  # the logistic, without overflow


def heading(passage: Passage) -> str:
    """What the model reads before the passage: its title, unless the text says it itself."""
    told = not passage.title.strip() or passage.title.casefold() in passage.text.casefold()
    return "" if told else f"{passage.title}\n"


def _candidates(
    window: Window, logits: Logits, text: str, split: Sequence[Sentence], skip: int, longest: int
) -> Iterator[_Candidate]:
    """The best span that starts in each sentence of the window; `skip` characters are of the heading."""
    places = np.flatnonzero((window.offsets[:, 0] >= skip) & (window.offsets[:, 1] > window.offsets[:, 0]))
    if not len(places) or not split:
        return
    offsets = window.offsets[places] - skip
    starts, ends = logits[0, places].astype(np.float64), logits[1, places].astype(np.float64)
    reach = np.lib.stride_tricks.sliding_window_view(
        np.concatenate([ends, np.full(longest - 1, -np.inf)]), longest
    )
    lengths = reach.argmax(axis=1)
    rows = np.arange(len(places))
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
        yield _Candidate(window.passage, start, end, sentence, float(margins[row]))


def _overlap(one: _Candidate, other: _Candidate) -> bool:
    return (
        one.passage == other.passage
        and one.sentence.start < other.sentence.end
        and other.sentence.start < one.sentence.end
    )
