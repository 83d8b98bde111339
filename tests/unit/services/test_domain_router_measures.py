"""Accuracy, macro-F1, confusion and temperature of a classifier."""

import numpy as np
import pytest

from services.domain_router.measures import best_temperature, log_loss, measure

NAMES = ["animal", "book", "food"]
LABELS = np.array([0, 0, 0, 1, 1])
LOGITS = np.array([[2.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 3.0], [0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])


def test_measures_are_those_of_the_textbook() -> None:
    measures = measure(LOGITS, LABELS, NAMES)
    animal, book, food = measures.classes
    assert measures.confusion == ((2, 0, 1), (1, 1, 0), (0, 0, 0))
    assert measures.accuracy == pytest.approx(3 / 5)
    assert (animal.precision, animal.recall, animal.f1) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert (book.precision, book.recall, book.f1) == pytest.approx((1.0, 1 / 2, 2 / 3))
    assert (food.label, food.support, food.precision, food.f1) == ("food", 0, 0.0, 0.0)


@pytest.mark.parametrize("overconfidence", [0.5, 1.0, 3.0, 6.0])
def test_the_temperature_undoes_overconfidence(overconfidence: float) -> None:
    generator = np.random.default_rng(3)
    honest = generator.normal(0, 1.5, (400, 3))
    probabilities = np.exp(honest) / np.exp(honest).sum(axis=1, keepdims=True)
    labels = np.array([generator.choice(3, p=row) for row in probabilities])
    found = best_temperature(honest * overconfidence, labels)
    assert found == pytest.approx(overconfidence, rel=0.2)
    assert log_loss(honest * overconfidence / found, labels) <= log_loss(honest * overconfidence, labels)
