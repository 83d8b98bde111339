"""Reads with a question-answering model: its best spans, and whether it prefers them to no answer.

The margin of a span is its start and end logit less those of [CLS] in the same window (run_squad's
`null_score_diff`, turned round). Runs in a bare torch + transformers environment.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import accumulate
from math import log1p
from statistics import fmean
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chassis.calibration import LogisticCurve
from chassis.models.windows import SentenceAnswer, Window, question_text
from language.sentences import Sentence, sentences
from language.words import content_stems
from services.reader.engine import Answer, Passage, PassageKind, Query, Reader, Span
from services.reader.engines.rows import say_cell, with_named_rows
from services.reader.engines.spoken import as_sentence, is_short, speak, speak_attribute, speak_span

Logits = NDArray[np.float32]
"""[2, tokens]: that the answer starts, and that it ends, at each token; at [CLS] that there is none."""

Forward = Callable[[Sequence[Window]], Sequence[Logits]]

FindClauses = Callable[[str, Sequence[SentenceAnswer]], Sequence[SentenceAnswer | None]]
"""Takes a question and long sentences; returns the clause of each that may be said, if there is one."""

_NEGLIGIBLE = 0.01
"""Below this probability a span is not worth sending: no caller answers at one in a hundred."""


FEATURES = (
    *("margin", "rank", "named", "record", "print", "margin_named", "margin_record", "margin_print"),
    *("fewer_words", "mean_margin", "details"),
)
"""Inputs of the probability. "rank": 1 for the first page of the search, 1/2 for the second; 0 for what is no
page. "named": the question is about a thing with a known name. "record", "print": the passage is an attribute
of a thing, or text in the photo. "fewer_words": how much less of the question's words the sentence has than
the candidate sentence that has most of them, in 0..1. "mean_margin": of the ten best; where much answers a
little, the best is less sure. "details": ln(1 + the question's names and numbers that neither its subject nor
the passage's title has): each is one more thing in which the passage can differ.
"""

_MEAN_OF = 10
_WORD = re.compile(r"\w+")


def uncalibrated(temperature: float = 2.0) -> LogisticCurve:
    """Return a curve for a model without calibration: the margin divided by `temperature`.

    A margin is the sum of two log odds, of the start and of the end. Both tell of the same decision, so their
    mean, temperature 2, is the guess. Fit it to questions of your own.
    """
    return LogisticCurve(0.0, (1 / temperature, *(0.0 for _ in FEATURES[1:])))


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """`answer_tokens`: of the longest span, 30 in run_squad. `curve`: from `FEATURES` to a probability."""

    answer_tokens: int = 30
    curve: LogisticCurve = field(default_factory=uncalibrated)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """`text[start:end]` of a passage, and the sentences it lies in (one, unless it runs on)."""

    passage: int
    start: int
    end: int
    sentence: Span
    margin: float


class ExtractiveModel(Protocol):
    """Cuts passages into windows and reads them."""

    @property
    def name(self) -> str:
        """The reply's `model`."""
        ...

    def windows(self, question: str, passages: Sequence[str]) -> list[Window]:
        """Return the passages' windows, the first of each passage before the second of any."""
        ...

    def forward(self, windows: Sequence[Window]) -> Sequence[Logits]:
        """Return the logits of each window's own tokens."""
        ...


class ExtractiveReader(Reader):
    """`Reader` by a question-answering model; `forward` is its own or one shared with other callers.

    `find_clauses` chooses what is said of long sentences; by default, only the words that answer.
    """

    def __init__(
        self,
        model: ExtractiveModel,
        forward: Forward | None = None,
        options: ReadingOptions | None = None,
        find_clauses: FindClauses = lambda _, answers: [None] * len(answers),
    ) -> None:
        self._model = model
        self._find_clauses = find_clauses
        self._forward = forward or model.forward
        self._options = options or ReadingOptions()
        self.name = model.name

    def read(self, query: Query, passages: Sequence[Passage], top_n: int = 1) -> list[Answer]:
        """See the protocol."""
        return [answer for answer, _ in self.rank(query, passages, top_n)]

    def rank(
        self, query: Query, passages: Sequence[Passage], top_n: int
    ) -> list[tuple[Answer, Sequence[float]]]:
        """Return the best answers, best first, each with its `FEATURES`."""
        candidates = self._find_candidates(query, passages)
        vectors = measure(query, passages, candidates)
        probabilities = map(self._options.curve.probability, vectors)
        scored = sorted(
            zip(probabilities, candidates, vectors, strict=True),
            key=lambda each: (-each[0], each[1].passage, each[1].start),
        )
        chosen: list[tuple[float, _Candidate, Sequence[float]]] = []
        for probability, candidate, vector in scored:
            if len(chosen) == top_n or probability < _NEGLIGIBLE:
                break
            if not any(_overlap(candidate, other) for _, other, _ in chosen):
                chosen.append((probability, candidate, vector))
        spoken = self._speak(query, passages, [each for _, each, _ in chosen])
        return [
            (Answer(each.passage, Span(each.start, each.end), each.sentence, words, probability), vector)
            for (probability, each, vector), words in zip(chosen, spoken, strict=True)
        ]

    def _speak(
        self, query: Query, passages: Sequence[Passage], candidates: Sequence[_Candidate]
    ) -> list[str]:
        """Return what to say for each; the clauses of long sentences are found together."""
        answers = [_sentence_answer(passages, each) for each in candidates]
        pairs = [(passages[each.passage], answer) for each, answer in zip(candidates, answers, strict=True)]
        whole = [_speak_whole(query, *pair) for pair in pairs]
        long = [answer for answer, words in zip(answers, whole, strict=True) if words is None]
        question = question_text(query.question, query.subject)
        clauses = iter(self._find_clauses(question, long) if long else ())
        return [
            words or _speak_part(query, *pair, next(clauses))
            for words, pair in zip(whole, pairs, strict=True)
        ]

    def _find_candidates(self, query: Query, passages: Sequence[Passage]) -> list[_Candidate]:
        question = question_text(query.question, query.subject)
        headings = [heading(passage) for passage in passages]
        texts = [
            head + with_named_rows(query.question, passage.text)
            for head, passage in zip(headings, passages, strict=True)
        ]
        # Windows of like length side by side: little of a batch is padding.
        windows = sorted(self._model.windows(question, texts), key=lambda window: len(window.ids))
        split = [sentences(passage.text) for passage in passages]
        return [
            candidate
            for window, logits in zip(windows, self._forward(windows), strict=True)
            for candidate in _candidates(
                window,
                logits,
                passages[window.passage].text,
                split[window.passage],
                len(headings[window.passage]),
                self._options.answer_tokens,
                within_line=passages[window.passage].kind is not PassageKind.PHOTO,
            )
        ]


def measure(query: Query, passages: Sequence[Passage], candidates: Sequence[_Candidate]) -> list[list[float]]:
    """Return the values of `FEATURES` for each candidate; the passages stand in the search's order."""
    named = float(bool(query.subject))
    pages_before = list(accumulate((each.kind is PassageKind.PAGE for each in passages), initial=0))
    shares = _word_shares(query, passages, candidates)
    most = max(shares, default=0.0)
    best = nlargest(_MEAN_OF, (each.margin for each in candidates))
    mean_margin = fmean(best) if best else 0.0
    details = _details(query)
    beside = [log1p(len(details - _words(each.title))) for each in passages]
    vectors = []
    for candidate, share in zip(candidates, shares, strict=True):
        kind, margin = passages[candidate.passage].kind, candidate.margin
        rank = 1 / (1 + pages_before[candidate.passage]) if kind is PassageKind.PAGE else 0.0
        marks = (named, float(kind is PassageKind.ATTRIBUTE), float(kind is PassageKind.PHOTO))
        by_mark = (margin * mark for mark in marks)
        vectors.append([margin, rank, *marks, *by_mark, most - share, mean_margin, beside[candidate.passage]])
    return vectors


def _details(query: Query) -> set[str]:
    """Return the names and numbers of a question, without its subject's; its first word may be any word."""
    if query.question.isupper():
        return set()
    words = _WORD.findall(query.question)[1:]
    given = {word.casefold() for word in words if word[0].isdigit() or (word[0].isupper() and len(word) > 1)}
    return given - _words(query.subject or "")


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _word_shares(query: Query, passages: Sequence[Passage], candidates: Sequence[_Candidate]) -> list[float]:
    """Return how much of the question's words, in 0..1, each candidate's sentence has; rare words weigh more.

    A word that is only elsewhere in the passage counts half.
    """
    stems = [content_stems(each.text) for each in passages]
    found = Counter(stem for each in stems for stem in each)
    question = content_stems(f"{query.subject or ''} {query.question}")
    weights = {stem: log1p((len(passages) + 1) / (found[stem] + 0.5)) for stem in question}
    total = sum(weights.values()) or 1.0
    shares: dict[tuple[int, Span], float] = {}  # several candidates may share one long sentence
    for candidate in candidates:
        place = (candidate.passage, candidate.sentence)
        if place not in shares:
            sentence = passages[candidate.passage].text[candidate.sentence.start : candidate.sentence.end]
            near, inside = question & stems[candidate.passage], question & content_stems(sentence)
            shares[place] = sum(weights[stem] for each in (near, inside) for stem in each) / (2 * total)
    return [shares[each.passage, each.sentence] for each in candidates]


def _sentence_answer(passages: Sequence[Passage], candidate: _Candidate) -> SentenceAnswer:
    start, end = candidate.sentence.start, candidate.sentence.end
    sentence = passages[candidate.passage].text[start:end]
    return SentenceAnswer(sentence, candidate.start - start, candidate.end - start)


def _speak_whole(query: Query, passage: Passage, answer: SentenceAnswer) -> str | None:
    """Return what to say: an attribute, a cell of a table or the sentence; None if that is too long."""
    if passage.kind is PassageKind.ATTRIBUTE:
        return speak_attribute(answer.sentence, answer.text, passage.title)
    cell = say_cell(answer.sentence, answer.end)
    return (
        as_sentence(cell) if cell and is_short(cell) else speak(answer, _antecedent(query, passage, answer))
    )


def _speak_part(query: Query, passage: Passage, answer: SentenceAnswer, clause: SentenceAnswer | None) -> str:
    """Return what to say of a long sentence: its clause, else the words that answer."""
    at_start = clause is not None and answer.sentence.startswith(clause.sentence)
    words = speak(clause, _antecedent(query, passage, answer) if at_start else None) if clause else None
    return words or speak_span(answer.text, passage.title or query.subject or "")


def _antecedent(query: Query, passage: Passage, answer: SentenceAnswer) -> str | None:
    """Return what a pronoun at the start of the sentence stands for: the subject, if the sentence before it
    in its line, or else the title, begins with that.
    """
    before = passage.text[: passage.text.find(answer.sentence)].rpartition("\n")[2]
    previous = sentences(before)[-1].text if before.strip() else passage.title
    subject = query.subject or ""
    begins = previous.casefold().removeprefix("the ").startswith(subject.casefold().removeprefix("the "))
    return subject if subject and begins else None


def heading(passage: Passage) -> str:
    """Return what is read before a page's passage: its title, as the reranker and the verifier have it."""
    titled = passage.kind is PassageKind.PAGE and passage.title.strip()
    return f"{passage.title}\n" if titled else ""


def _candidates(
    window: Window,
    logits: Logits,
    text: str,
    split: Sequence[Sentence],
    skip: int,
    longest: int,
    *,
    within_line: bool,
) -> Iterator[_Candidate]:
    """The best span that starts in each sentence of the window; `skip` characters are of the heading.

    `within_line`: none goes on over a line break; print in a photo does.
    """
    places = np.flatnonzero((window.offsets[:, 0] >= skip) & (window.offsets[:, 1] > window.offsets[:, 0]))
    if not len(places) or not split:
        return
    offsets = window.offsets[places] - skip
    starts, ends = logits[0, places].astype(np.float64), logits[1, places].astype(np.float64)
    rows = np.arange(len(places))
    lines = np.array([text.count("\n", 0, start) for start in offsets[:, 0]]) if within_line else rows * 0
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
        yield _Candidate(window.passage, start, end, sentence, float(margins[row]))


def _following(values: NDArray[Any], count: int, beyond: float) -> NDArray[Any]:
    """Return, for each value, it and the next ones, [values, count]; `beyond` the last one."""
    padded = np.concatenate([values, np.full(count - 1, beyond)])
    return np.lib.stride_tricks.sliding_window_view(padded, count)


def _overlap(one: _Candidate, other: _Candidate) -> bool:
    return (
        one.passage == other.passage
        and one.sentence.start < other.sentence.end
        and other.sentence.start < one.sentence.end
    )
