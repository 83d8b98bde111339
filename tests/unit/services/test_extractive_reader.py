"""How the reader chooses among answers of which the model is equally sure."""

import re
from collections.abc import Sequence

import numpy as np
import pytest

from chassis.calibration import LogisticCurve
from chassis.models.windows import Window
from services.reader.engine import Passage, PassageKind, Query
from services.reader.engines.extractive import ExtractiveReader, ReadingOptions
from services.reader.engines.features import FEATURES
from services.reader.engines.spans import Logits


def curve(**coefficients: float) -> LogisticCurve:
    """Return a curve with these coefficients; the others are 0."""
    return LogisticCurve(0.0, tuple(coefficients.get(name, 0.0) for name in FEATURES))


class SureOfYears:
    """A model by which every year answers, and nothing else does."""

    name = "years"

    def windows(self, question: str, passages: Sequence[str]) -> list[Window]:
        """Return a window of a [CLS] and the words for each passage; `ids` is 1 for a year."""
        windows = []
        for place, text in enumerate(passages):
            results = list(re.finditer(r"\w+", text))
            offsets = np.array([(-1, -1), *(word.span() for word in results)], dtype=np.int64)
            windows.append(Window(place, (0, *(int(word[0].isdigit()) for word in results)), (), offsets))
        return windows

    def forward(self, windows: Sequence[Window]) -> list[Logits]:
        """Return high logits at years."""
        return [np.array([window.ids, window.ids], dtype=np.float32) for window in windows]


class SureOfLastYears(SureOfYears):
    """A model by which the first year begins the answer, and the last one ends it."""

    def forward(self, windows: Sequence[Window]) -> list[Logits]:
        """Return starts that fall and ends that rise from word to word."""
        rising = [np.linspace(0.5, 1.5, len(window.ids)) for window in windows]
        return [
            np.array([each.ids / slope, each.ids * slope], dtype=np.float32)
            for each, slope in zip(windows, rising, strict=True)
        ]


@pytest.mark.parametrize(
    ("question", "year"),
    [
        ("When was the lighthouse painted?", "1931"),
        ("When was the lighthouse built?", "1874"),
        ("When was the harbour wall finished?", "1902"),
        ("Whose?", None),  # no word of the question is in a passage
    ],
)
def test_the_sentence_with_more_of_the_question_answers(question: str, year: str | None) -> None:
    by = ReadingOptions(curve=curve(margin=1.0, fewer_words=-1.0))
    passages = [
        Passage("The lighthouse was built in 1874. Sailors painted the lighthouse in 1931."),
        Passage("The wall around the harbour was finished in 1902."),
    ]
    best, second, *_ = ExtractiveReader(SureOfYears(), options=by).read(Query(question), passages, top_n=3)
    if year is None:
        assert best.probability == second.probability
    else:
        assert passages[best.passage].text[best.span.start : best.span.end] == year
        assert best.probability > second.probability


def probability(query: Query, passages: Sequence[Passage], **coefficients: float) -> float:
    reader = ExtractiveReader(SureOfYears(), options=ReadingOptions(curve=curve(**coefficients)))
    return reader.read(query, passages)[0].probability


def test_many_weak_answers_lower_the_confidence() -> None:
    query, built = Query("When was the mill built?"), Passage("The mill was built in 1874.")
    alone, crowded = (
        probability(query, [built, Passage(other)], margin=1.0, mean_margin=-1.0)
        for other in ("It stands by the river.", "It was sold in 1931.")
    )
    assert alone > crowded


@pytest.mark.parametrize(
    ("question", "title", "subject", "details"),
    [
        ("When did Marit Edling buy it?", "", None, 2),
        ("When did Marit Edling buy the Ostrel Mill?", "Ostrel Mill", None, 2),
        ("When did Marit Edling buy the Ostrel Mill?", "", "Ostrel Mill", 2),
        ("When was wheel 2 moved by Edling?", "", None, 2),
        ("WHEN WAS IT SOLD?", "", None, 0),  # all capitals: no names are recognised
    ],
)
def test_extra_names_and_numbers_lower_the_confidence(
    question: str, title: str, subject: str | None, details: int
) -> None:
    passages = [Passage("It was sold in 1931.", title)]
    odds = 1 + details
    assert probability(Query(question, subject), passages, details=1.0) == pytest.approx(odds / (1 + odds))


@pytest.mark.parametrize(
    ("text", "title", "spoken"),
    [
        ("The Old Mill stands on the Sorn. It dates from 1874.", "", "Old Mill dates from 1874."),
        ("It dates from 1874.", "The Old Mill", "Old Mill dates from 1874."),
        ("The bridge leads to the Old Mill. It dates from 1874.", "The Old Mill", "It dates from 1874."),
        ("It dates from 1874.", "Bridges of the Sorn", "It dates from 1874."),
    ],
)
def test_a_pronoun_becomes_the_subject_only_after_its_name(text: str, title: str, spoken: str) -> None:
    query = Query("When was it built?", "Old Mill")
    (answer,) = ExtractiveReader(SureOfYears()).read(query, [Passage(text, title)])
    assert answer.spoken == spoken


def test_an_answer_ends_with_its_line_except_in_print() -> None:
    def span(kind: PassageKind) -> str:
        passage = Passage("Closed until 1874\n1902", kind=kind)
        (answer,) = ExtractiveReader(SureOfLastYears()).read(Query("Until when?"), [passage])
        return passage.text[answer.span.start : answer.span.end]

    assert span(PassageKind.PAGE) == "1902"
    assert span(PassageKind.PHOTO) == "1874\n1902"
