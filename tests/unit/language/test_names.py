"""Names are found where they stand, and compared as a reader of bad print compares them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.names import agreement, alike, coverage, mentions, name_words, names, same_name
from tests.unit.language.hostile import TEXTS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It hangs in the Museum of Modern Art in New York.", ["Museum of Modern Art", "New York"]),
        ("The Great Bridge was built by J. K. Mason.", ["Great Bridge", "J. K. Mason"]),
        ("He wrote The Great Gatsby.", ["The Great Gatsby"]),
        ("We flew in a Boeing 747 from St. John's.", ["Boeing 747", "St. John"]),
        ("She owns an iPhone 14 and a Fiat 500.", ["iPhone 14", "Fiat 500"]),
        ("It was opened on Monday, 3 June 1894.", []),
        ("Painting is hard. Usually nobody cares.", []),
        ("Visitors like it; visitors return.", []),
        ("Einstein was born in Ulm.", ["Einstein", "Ulm"]),
        ("Vincent van Gogh met Jean-Paul de la Tour.", ["Vincent van Gogh", "Jean-Paul de la Tour"]),
        ("a poem by Homer\nopen daily", ["Homer"]),
        ("nothing here", []),
    ],
)
def test_capitalised_runs_are_names_and_a_sentence_s_first_word_seldom_is(
    text: str, expected: list[str]
) -> None:
    assert [name.text for name in names(text)] == expected


@given(st.text(alphabet=st.sampled_from("aAbB. \n'’-&19ofde")))
def test_names_are_verbatim_and_in_order(text: str) -> None:
    found = names(text)
    assert all(name.text == text[name.start : name.end] != "" for name in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        *[("harbour", "harbcur", True), ("lighthouse", "1ighthouse", False), ("gold", "cold", False)],
        *[("tower", "towr", True), ("1894", "1895", False), ("observatory", "observclory", True)],
        ("observatory", "obscrvatoy", False),
    ],
)
def test_a_slip_of_ocr_is_forgiven_in_long_words_and_never_in_digits(a: str, b: str, same: bool) -> None:
    assert alike(a, b) is alike(b, a) is same


@given(st.text(min_size=1), st.text())
def test_comparing_is_defined_for_any_text(name: str, text: str) -> None:
    assert 0.0 <= coverage(name, text) <= 1.0
    assert mentions(text, name) in {True, False}
    assert same_name(name, text) == same_name(text, name)
    share = agreement(name, text)
    assert share is None or 0.0 <= share <= 1.0


def test_a_name_is_itself_without_small_words_accents_and_order() -> None:
    assert same_name("The Café Müller", "Muller cafe")
    assert not same_name("Fiat 500", "Fiat 600")
    assert not same_name("", "the")
    assert name_words("The Who") == ("the", "who")


def test_a_text_mentions_a_name_whose_words_stand_close_together() -> None:
    assert mentions("The old harbour museum of Rye is small.", "Rye Harbour Museum")
    assert not mentions(
        "Rye has a mill. " + "It is old and quaint. " * 5 + "A harbour museum.", "Rye Harbour Museum"
    )
    assert mentions("RYEHARBOURMUSEUM", "Rye Harbour Museum")


def test_print_agrees_with_the_share_of_the_name_that_it_shows() -> None:
    assert agreement("Rye Harbour Museum, England", "RYE HARBOUR\nMUSEUM") == 1.0
    assert agreement("Rye Harbour Museum", "Rye Castle Hotel") == pytest.approx(3 / 16)
    assert agreement("Fiat 500", "Fiat 600 Turbo") == 0.5
    assert agreement("Fiat 500", "Fiat") is None


@pytest.mark.parametrize("text", TEXTS)
def test_long_hostile_texts_are_compared(text: str) -> None:
    assert len(names(text)) <= len(text)
    assert coverage(text, text) <= 1.0
    assert mentions(text, "John of one A") in {True, False}
    assert agreement("one", text) is None or agreement("one", text) in {0.0, 1.0}
