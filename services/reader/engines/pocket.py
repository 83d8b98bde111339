"""A reader without weights files: features of words under fitted linear curves."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chassis.calibration import LogisticCurve
from language.reference import pointer, with_subject
from services.reader.engine import Answer, Passage, Query, Span
from services.reader.engines.printed import PRINT_ANSWER_NAMES, PRINT_NAMES, printed_pieces
from services.reader.engines.prose import ANSWER_NAMES, SENTENCE_NAMES, SPAN_NAMES, ProseReader
from services.reader.engines.ranking import Piece, likeliest
from services.reader.engines.records import RECORD_ANSWER_NAMES, RECORD_NAMES, record_pieces
from services.reader.engines.terms import Rarity, WeightedQuestion
from services.reader.engines.texts import Prepared, Sentence, prepare
from services.reader.spoken import said

WEIGHTS = Path(__file__).with_name("pocket_weights.json")
OPEN, ABOUT = "open", "about"
"""How prose is read: for any question, and for one about a thing whose name is known."""


LAYOUT: Mapping[str, Sequence[str]] = {
    **{f"{kind}_sentence": SENTENCE_NAMES for kind in (OPEN, ABOUT)},
    **{f"{kind}_span": SPAN_NAMES for kind in (OPEN, ABOUT)},
    **{f"{kind}_answer": ANSWER_NAMES for kind in (OPEN, ABOUT)},
    "record": RECORD_NAMES,
    "record_answer": RECORD_ANSWER_NAMES,
    "print": PRINT_NAMES,
    "print_answer": PRINT_ANSWER_NAMES,
}
"""The curves of the weights file and the features of each."""


@dataclass(frozen=True, slots=True)
class Curves:
    """By the names of `LAYOUT`. Raises `ValueError` for curves that were fitted on other features."""

    curves: Mapping[str, LogisticCurve]

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> "Curves":
        """What `services.reader.train_pocket` wrote."""
        stored = json.loads(path.read_text("utf-8"))
        return cls({name: LogisticCurve.from_json(stored[name], names) for name, names in LAYOUT.items()})

    def __getitem__(self, name: str) -> LogisticCurve:
        return self.curves[name]


class PocketReader:
    """Reads prose, attributes and print each in its own way; the calibrated probabilities are compared."""

    name = "pocket-features"

    def __init__(self, curves: Curves | None = None, rarity: Rarity | None = None) -> None:
        self._curves = curves or Curves.load()
        self._rarity = rarity or Rarity.load()
        self._prose = {
            kind: ProseReader(self._curves[f"{kind}_sentence"], self._curves[f"{kind}_span"])
            for kind in (OPEN, ABOUT)
        }

    def read(self, query: Query, passages: Sequence[Passage], top_n: int = 1) -> list[Answer]:
        """The best answers, best first, of different sentences; empty if nothing is said to the question."""
        prepared = prepare(passages)
        if not prepared.sentences:
            return []
        asked = WeightedQuestion(question_about(query), self._rarity, query.subject)
        of_print = WeightedQuestion(about_print(query.question), self._rarity)
        found = [
            *self._from_prose(ABOUT if query.subject else OPEN, asked, prepared),
            *self._from_pieces("record", record_pieces(asked, prepared)),
            *self._from_pieces("print", printed_pieces(of_print, prepared, passages)),
        ]
        return sorted(found, key=lambda answer: -answer.probability)[:top_n]

    def _from_prose(self, kind: str, asked: WeightedQuestion, prepared: Prepared) -> list[Answer]:
        curve = self._curves[f"{kind}_answer"]
        return [
            _answer(
                each.sentence,
                each.first,
                each.last,
                each.sentence.between(*each.window),
                curve.probability(each.vector),
            )
            for each in self._prose[kind].propose(asked, prepared)
        ]

    def _from_pieces(self, kind: str, pieces: Iterable[Piece]) -> list[Answer]:
        """Of attributes ("record"), said with their keys, or of print, said by the line."""
        curve = self._curves[f"{kind}_answer"]
        return [
            _answer(
                each.sentence,
                each.first,
                each.last,
                f"{each.key[:1].upper()}{each.key[1:]}: {each.text}" if each.key else each.sentence.text,
                curve.probability(each.vector),
            )
            for each in likeliest(pieces, self._curves[kind])
        ]


def question_about(query: Query) -> str:
    """The question with the subject's name where it points at the subject, if it does."""
    if query.subject and pointer(query.question) is not None:
        return with_subject(query.question, query.subject)
    return query.question


def about_print(question: str) -> str:
    """The question without the noun that it points at: "this menu" is not printed on the menu."""
    return with_subject(question, "it") if pointer(question) is not None else question


def _answer(sentence: Sentence, first: int, last: int, words: str, probability: float) -> Answer:
    """`words`: what is said, as it stands in the text."""
    start, end = (sentence.start + place for place in sentence.bounds(first, last))
    whole = Span(sentence.start, sentence.start + len(sentence.text))
    return Answer(sentence.passage, Span(start, end), whole, said(words), probability)
