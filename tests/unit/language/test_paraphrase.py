"""Everyday words for one relation find each other."""

import pytest

from language.paraphrase import _EXPANSIONS, expansions
from language.words import stem


@pytest.mark.parametrize(
    ("asked", "stated"),
    [
        *[("wrote", "author"), ("founded", "established"), ("tall", "height"), ("died", "death")],
        *[("price", "costs"), ("maker", "manufactured"), ("large", "area"), ("opened", "began")],
        *[("lives", "resident"), ("old", "age")],
    ],
)
def test_a_relation_is_found_in_other_words_both_ways(asked: str, stated: str) -> None:
    assert stem(stated) in expansions(stem(asked))
    assert stem(asked) in expansions(stem(stated))


def test_no_word_is_its_own_paraphrase_and_unknown_words_have_none() -> None:
    assert expansions("zyzzyva") == frozenset()
    assert all(each not in others for each, others in _EXPANSIONS.items())
