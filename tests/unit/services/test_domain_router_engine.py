"""The built-in domain router."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.domain_router import Domain
from services.domain_router.engines.builtin import BuiltinDomainRouter

ENGINE = BuiltinDomainRouter()
DOMAINS = list(Domain)


def classify(question: str, recognized_text: str = "") -> tuple[Domain, float]:
    probabilities = ENGINE.classify(question, recognized_text, None)
    best = int(np.argmax(probabilities))
    return DOMAINS[best], probabilities[best]


@pytest.mark.parametrize(
    ("question", "domain"),
    [
        ("what breed is the puppy on my sofa?", Domain.ANIMAL),
        ("who is the author of this paperback?", Domain.BOOK),
        ("how many calories are in this sandwich", Domain.FOOD),
        ("when was the cathedral behind the fountain built?", Domain.LOCAL),
        ("what is the solution of the second equation?", Domain.MATH_AND_SCIENCE),
        ("how often should I water this orchid", Domain.PLANTS_AND_GARDENING),
        ("how many goals did this striker score last season?", Domain.SPORTS_AND_GAMES),
        ("does this skirt go with brown leather boots", Domain.STYLE_AND_FASHION),
        ("what does the handwritten note say, can you translate it?", Domain.TEXT_UNDERSTANDING),
        ("how much horsepower does this car have?", Domain.VEHICLE),
    ],
)
def test_a_plain_question_goes_to_its_domain(question: str, domain: Domain) -> None:
    assert classify(question)[0] is domain


def test_text_in_the_photo_helps_where_the_question_says_little() -> None:
    book = DOMAINS.index(Domain.BOOK)
    alone = ENGINE.classify("who made this?", "", None)[book]
    with_text = ENGINE.classify("who made this?", "a novel by the bestselling author, second edition", None)[
        book
    ]
    assert with_text > 0.5 > alone


@pytest.mark.parametrize("question", ["?", "this", "hm", "what"])
def test_a_question_without_a_clue_is_not_decided(question: str) -> None:
    assert classify(question)[1] < 0.5


@given(st.text(max_size=120), st.text(max_size=200))
@settings(max_examples=20, deadline=None)
def test_any_text_gets_a_distribution(question: str, recognized_text: str) -> None:
    probabilities = ENGINE.classify(question, recognized_text, None)
    assert len(probabilities) == len(DOMAINS)
    assert math.isclose(sum(probabilities), 1.0, rel_tol=1e-5)
    assert min(probabilities) >= 0.0
