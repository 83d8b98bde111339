"""The share of gold words in an answer."""

import pytest

from evaluation.scoring.measures import overlap


@pytest.mark.parametrize(
    ("answer", "gold", "share"),
    [
        ("It has 312 pages.", "it has 312 pages", 1),
        ("312", "It has 312 pages.", 0.25),
        ("", "It has 312 pages.", 0),
        ("pages pages pages", "pages of pages", 2 / 3),
        ("the an a", "The", 1),
        ("Café Müller's", "cafe mullers", 1),
        ("blue", "red", 0),
    ],
)
def test_overlap_is_the_share_of_the_gold_words_that_are_said(answer: str, gold: str, share: float) -> None:
    assert overlap(answer, gold) == pytest.approx(share)
