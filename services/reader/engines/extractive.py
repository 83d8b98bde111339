"""Reads with a question-answering model: its best spans, and whether it prefers them to no answer.

Runs in a bare torch + transformers environment.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from chassis.calibration import LogisticCurve
from chassis.models.windows import SentenceAnswer, Window, question_text
from language.sentences import sentences
from services.reader.engine import Answer, Passage, PassageKind, Query, Reader, Span
from services.reader.engines.features import measure, uncalibrated
from services.reader.engines.rows import say_cell, with_named_rows
from services.reader.engines.spans import Candidate, Logits, find_candidates, overlap
from services.reader.engines.spoken import as_sentence, is_short, speak, speak_attribute, speak_span

Forward = Callable[[Sequence[Window]], Sequence[Logits]]

FindClauses = Callable[[str, Sequence[SentenceAnswer]], Sequence[SentenceAnswer | None]]
"""Takes a question and long sentences; returns the clause of each that may be said, if there is one."""

_NEGLIGIBLE = 0.01
"""Below this probability a span is not worth sending: no caller answers at one in a hundred."""


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """`answer_tokens`: of the longest span, 30 in run_squad. `curve`: from `FEATURES` to a probability."""

    answer_tokens: int = 30
    curve: LogisticCurve = field(default_factory=uncalibrated)


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
        chosen: list[tuple[float, Candidate, Sequence[float]]] = []
        for probability, candidate, vector in scored:
            if len(chosen) == top_n or probability < _NEGLIGIBLE:
                break
            if not any(overlap(candidate, other) for _, other, _ in chosen):
                chosen.append((probability, candidate, vector))
        spoken = self._speak(query, passages, [each for _, each, _ in chosen])
        return [
            (Answer(each.passage, Span(each.start, each.end), each.sentence, words, probability), vector)
            for (probability, each, vector), words in zip(chosen, spoken, strict=True)
        ]

    def _speak(self, query: Query, passages: Sequence[Passage], candidates: Sequence[Candidate]) -> list[str]:
        """Return what to say for each; the clauses of long sentences are found together."""
        said = [(passages[each.passage], _sentence_answer(passages, each)) for each in candidates]
        subjects = [_antecedent(query, passages, each) for each in candidates]
        whole = [_speak_whole(*pair, subject) for pair, subject in zip(said, subjects, strict=True)]
        long = [answer for (_, answer), words in zip(said, whole, strict=True) if words is None]
        question = question_text(query.question, query.subject)
        clauses = iter(self._find_clauses(question, long) if long else ())
        return [
            words or _speak_part(query, *pair, next(clauses), subject)
            for words, pair, subject in zip(whole, said, subjects, strict=True)
        ]

    def _find_candidates(self, query: Query, passages: Sequence[Passage]) -> list[Candidate]:
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
            for candidate in find_candidates(
                window,
                logits,
                passages[window.passage],
                split[window.passage],
                len(headings[window.passage]),
                self._options.answer_tokens,
            )
        ]


def _sentence_answer(passages: Sequence[Passage], candidate: Candidate) -> SentenceAnswer:
    start, end = candidate.sentence.start, candidate.sentence.end
    sentence = passages[candidate.passage].text[start:end]
    return SentenceAnswer(sentence, candidate.start - start, candidate.end - start)


def _antecedent(query: Query, passages: Sequence[Passage], candidate: Candidate) -> str | None:
    """Return what a pronoun at the start of the sentence stands for: the subject, if the sentence before it
    in its line, or else the title, begins with that.
    """
    passage, subject = passages[candidate.passage], query.subject or ""
    before = passage.text[: candidate.sentence.start].rpartition("\n")[2]
    previous = sentences(before)[-1].text if before.strip() else passage.title
    begins = previous.casefold().removeprefix("the ").startswith(subject.casefold().removeprefix("the "))
    return subject if subject and begins else None


def _speak_whole(passage: Passage, answer: SentenceAnswer, subject: str | None) -> str | None:
    """Return what to say: an attribute, a cell of a table or the sentence; None if that is too long."""
    if passage.kind is PassageKind.ATTRIBUTE:
        return speak_attribute(answer.sentence, answer.text, passage.title)
    cell = say_cell(answer.sentence, answer.end)
    return as_sentence(cell) if cell and is_short(cell) else speak(answer, subject)


def _speak_part(
    query: Query, passage: Passage, answer: SentenceAnswer, clause: SentenceAnswer | None, subject: str | None
) -> str:
    """Return what to say of a long sentence: its clause, else the words that answer."""
    if clause is not None:
        begins_it = answer.sentence.startswith(clause.sentence)
        if words := speak(clause, subject if begins_it else None):
            return words
    return speak_span(answer.text, passage.title or query.subject or "")


def heading(passage: Passage) -> str:
    """Return what is read before a page's passage: its title, as the reranker and the verifier have it."""
    titled = passage.kind is PassageKind.PAGE and passage.title.strip()
    return f"{passage.title}\n" if titled else ""
