"""Passages of pages as evidence."""

from gateway.clients.services import Passage
from gateway.steps.evidence import page_evidence


def texts(text: str) -> list[str]:
    return [item.text for item in page_evidence(Passage(text, "A page", "https://a.example", None))]


def test_a_word_without_end_is_cut_and_the_words_around_it_stay() -> None:
    (only,) = texts(f"The tower {'x' * 10_000} was built in 1987.")
    assert only == f"The tower {'x' * 200} was built in 1987."


def test_long_addresses_stay_whole() -> None:
    address = "https://a.example/" + "path/" * 30
    assert texts(f"See {address} for more.") == [f"See {address} for more."]


def test_a_page_without_words_is_no_evidence() -> None:
    assert texts(" \n ") == []
