"""Evidence cut to what a prompt holds."""

import pytest

from contracts.answer import CitationKind
from gateway.reasoning.pieces import HEADING_CHARS, excerpt, shortened
from gateway.state import Evidence

SEA = "The place lies by the sea. " * 40
TEXT = f"{SEA}Its tower was finished in 1907. It is of brick. {SEA}"


def page(text: str) -> Evidence:
    return Evidence(text, "Page", "https://pages.example/1", CitationKind.PAGE)


def test_what_is_cut_keeps_the_sentences_that_were_asked_for_whole() -> None:
    cut = excerpt(TEXT, 120, "when did they finish the tower?")
    assert "Its tower was finished in 1907." in cut
    assert cut.startswith(("The place", "Its tower"))
    assert cut.endswith(".")
    assert len(cut) <= 120


@pytest.mark.parametrize("asked", ["", "who sells tickets?"])
def test_where_nothing_was_asked_for_the_beginning_stays(asked: str) -> None:
    assert excerpt(TEXT, 60, asked) == "The place lies by the sea. The place lies by the sea."


def test_a_sentence_that_is_too_long_is_cut_within() -> None:
    assert excerpt("a tower and " * 50, 30, "tower") == "a tower and a tower and a towe"


def test_short_pieces_leave_their_share_to_long_ones() -> None:
    short, long = page("Brick."), page(TEXT)
    first, second, third = shortened([long, short, long], 2_000, "tower")
    assert second == short
    assert len(first.text) == pytest.approx(len(third.text))
    shares = sum(len(each.text) + HEADING_CHARS for each in (first, second, third))
    assert 1_900 < shares <= 2_000
    assert "finished in 1907" in first.text


def test_what_fits_stays_as_it_is() -> None:
    pieces = (page("Brick."), page("Stone."))
    assert shortened(pieces, 2_000, "tower") == pieces
    assert shortened((), 2_000, "tower") == ()


def test_a_piece_without_room_is_empty() -> None:
    assert excerpt("It has four towers. It opened in 1894.", -4, "towers") == ""
