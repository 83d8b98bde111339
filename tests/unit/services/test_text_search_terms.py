"""Normalise words to terms."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.text_search.terms import Analyzer


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("The Müller family", "muller families"),
        ("STRASSE", "straße"),
        ("a 1,200-page novel", "1200 pages"),
        ("12,50 euros", "12.50 euro"),
        ("model XR-200B", "xr200b"),
        ("model XR200", "XR-200"),
        ("its Wi-Fi", "wifi"),
        ("the author’s house", "author's houses"),
        ("Ａ４ paper", "A4"),
        ("東京タワー", "東京"),
        ("a 250ml bottle", "250 ml"),
    ],
)
def test_two_ways_to_write_a_thing_share_terms(written: str, asked: str) -> None:
    analyzer = Analyzer()
    assert set(analyzer.terms(written)) & set(analyzer.terms(asked))


def test_numbers_keep_their_decimals() -> None:
    assert Analyzer().terms("3.5 and 35") == ["3.5", "35"]


def test_stopwords_count_only_where_there_is_nothing_else() -> None:
    analyzer = Analyzer()
    assert analyzer.terms("Who wrote it?") == ["wrote"]
    assert analyzer.terms("The Who") == ["the", "who"]


def test_text_without_words_has_no_terms() -> None:
    assert Analyzer().terms("… !! — ?") == []


@given(st.text(max_size=300))
def test_any_text_is_cut_the_same_way_twice(text: str) -> None:
    analyzer = Analyzer()
    terms = analyzer.terms(text)
    assert terms == analyzer.terms(text)
    assert all(terms)


def test_threads_that_share_an_analyzer_get_the_stems_of_one_alone() -> None:
    words = [f"running{'x' * (number % 7)}s houses ponies{number} generalizations" for number in range(300)]
    expected = [Analyzer().terms(text) for text in words]
    shared = Analyzer(remembered_stems=10)
    found: list[list[list[str]]] = []
    threads = [
        threading.Thread(target=lambda: found.append([shared.terms(text) for text in words]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
