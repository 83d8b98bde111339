"""Words keep their places; forms for comparing lose case, accents and endings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.words import STOP_WORDS, content_stems, fold, squeeze, stem, tokens, unique, visible, words
from tests.unit.language.hostile import TEXTS


@given(st.text())
def test_every_word_is_verbatim_at_its_place_and_after_the_one_before(text: str) -> None:
    end = 0
    for word in tokens(text):
        assert word.text == text[word.start : word.end]
        assert word.text
        assert end <= word.start
        end = word.end


@given(st.text())
def test_words_are_the_folded_tokens(text: str) -> None:
    assert words(text) == tuple(word.folded for word in tokens(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna's café isn't L'Oréal.", ["Anna", "café", "isn't", "L'Oréal"]),
        ("They’re 1,234.50 km off", ["They", "1,234.50", "km", "off"]),
        ("cafe\u0301 au lait", ["cafe\u0301", "au", "lait"]),
        ("A380-800", ["A", "380", "800"]),
        ("", []),
    ],
)
def test_punctuation_and_possessives_are_no_words(text: str, expected: list[str]) -> None:
    assert [word.text for word in tokens(text)] == expected


def test_folding_makes_spellings_equal() -> None:
    assert fold("Straße’s CAFÉ") == fold("STRASSE'S café")


def test_forms_of_a_word_share_its_stem() -> None:
    assert stem("painting") == stem("painted") == stem("paints")


def test_content_leaves_function_words_out() -> None:
    assert content_stems("What is the height of this tower?") == {"height", "tower"}
    assert content_stems("what is it of") == frozenset()


def test_stop_words_are_folded_so_that_they_are_found() -> None:
    assert all(word == fold(word) for word in STOP_WORDS)


def test_hidden_characters_are_taken_out_and_controls_are_spaces() -> None:
    assert visible("a\u200bb\u202ec\x00d\ne") == "abc d\ne"


def test_squeezed_names_are_listed_once_in_order() -> None:
    assert squeeze("Saint-Émile 2") == "saintemile2"
    assert unique(["B c", "a", "b-C", "A"]) == ["B c", "a"]


@pytest.mark.parametrize("text", TEXTS)
def test_long_hostile_texts_are_read(text: str) -> None:
    assert "".join(words(text)).isprintable() or text
    assert len(tokens(text)) == len(words(text)) <= len(text)
    assert content_stems(text) is not None
