"""The builtin text search, and the terms of a text."""

import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.errors import CollectionNotFound
from chassis.vectors.edge import EdgeStore
from services.text_search.engine import Candidate, Passage
from services.text_search.engines.bm25 import Bm25TextSearch
from services.text_search.pages import fuse
from services.text_search.terms import Analyzer


def passage(text: str, url: str = "", title: str = "", position: int = 0) -> Passage:
    identity = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{url}|{title}|{position}|{text}"))
    return Passage(identity, url or f"https://pages.example/{identity}", title, text, position)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Bm25TextSearch]:
    opened = Bm25TextSearch(EdgeStore(tmp_path))
    opened.store.create("v1", opened.schema)
    yield opened
    opened.store.close()


HARBOUR = passage("The harbour of Lindvik was dredged twice.", title="Lindvik")
AUTHOR = passage("The Salt Road was written by Mira Holm in 1956.", title="The Salt Road")
PAGES = passage("It runs to 312 pages and was printed in Oslo.", title="The Salt Road (first edition)")
MENU = passage("The soup of the day costs 6.50 euros.", title="Café Nord menu")


def test_the_passage_that_speaks_of_it_comes_first(engine: Bm25TextSearch) -> None:
    engine.index("v1", [HARBOUR, AUTHOR, PAGES, MENU])
    assert engine.search(["Who wrote The Salt Road?"], 3, "v1")[0].passage == AUTHOR
    assert engine.search(["How much is the soup?"], 3, "v1")[0].passage == MENU


def test_a_title_makes_up_for_a_passage_that_says_it(engine: Bm25TextSearch) -> None:
    engine.index("v1", [HARBOUR, AUTHOR, PAGES, MENU])
    assert engine.search(["How many pages has The Salt Road?"], 3, "v1")[0].passage == PAGES


def test_a_rare_word_weighs_more_than_a_common_one(engine: Bm25TextSearch) -> None:
    common = [passage(f"A museum of things, number {number}.") for number in range(20)]
    engine.index("v1", [*common, passage("A collection of thimbles.")])
    assert "thimbles" in engine.search(["museum thimble"], 1, "v1")[0].passage.text


def test_depth_limits_pages(engine: Bm25TextSearch) -> None:
    url = "https://pages.example/long"
    long = [passage(f"The harbour of Lindvik, part {number}.", url, position=number) for number in range(9)]
    others = [passage(f"A harbour, long forgotten, number {number}, far away.") for number in range(9)]
    engine.index("v1", [*long, *others])
    query = ["harbour of Lindvik"]
    assert [len(engine.search(query, 6, "v1", depth)) for depth in (9, 12, None)] == [1, 4, 6]
    assert len(engine.search([*query, "forgotten"], 6, "v1", 3)) == 4


def test_a_page_is_named_once_by_its_best_passage(engine: Bm25TextSearch) -> None:
    url = "https://pages.example/long"
    parts = [passage(f"The lighthouse, part {number}.", url, position=number) for number in range(12)]
    engine.index("v1", [*parts[:11], passage("The lighthouse was lit in 1911.", url, position=12), AUTHOR])
    hits = engine.search(["When was the lighthouse lit?", "Who wrote The Salt Road?"], 5, "v1")
    assert sorted(hit.passage.text for hit in hits) == [AUTHOR.text, "The lighthouse was lit in 1911."]


def test_each_hit_says_which_sub_queries_found_it(engine: Bm25TextSearch) -> None:
    engine.index("v1", [HARBOUR, AUTHOR, MENU])
    hits = engine.search(["harbour of Lindvik", "written by Mira Holm", "Lindvik"], 5, "v1")
    assert {hit.passage.title: hit.query_indexes for hit in hits} == {
        "Lindvik": (0, 2),
        "The Salt Road": (1,),
    }
    assert hits[0].passage == HARBOUR


def test_a_question_without_words_finds_nothing(engine: Bm25TextSearch) -> None:
    engine.index("v1", [HARBOUR])
    assert engine.search(["?!"], 5, "v1") == []


def test_a_collection_that_is_not_there_is_named_as_such(engine: Bm25TextSearch) -> None:
    with pytest.raises(CollectionNotFound):
        engine.search(["harbour"], 5, "nowhere")
    with pytest.raises(CollectionNotFound):
        engine.index("nowhere", [HARBOUR])


def test_what_cannot_be_indexed_is_told_and_the_rest_is_indexed(engine: Bm25TextSearch) -> None:
    wordless = passage("…", "https://pages.example/empty")
    nameless = Passage("7", "https://pages.example/7", "", "Seven.", 0)
    halved = Passage(AUTHOR.id, "https://pages.example/\ud83d", "", "Half a \ud83d face.", 0)
    assert set(engine.index("v1", [wordless, nameless, halved, HARBOUR])) == {wordless.id, "7", AUTHOR.id}
    assert [hit.passage for hit in engine.search(["harbour", "seven"], 5, "v1")] == [HARBOUR]


def test_an_edited_page_never_answers_with_its_old_text(engine: Bm25TextSearch) -> None:
    url = "https://pages.example/shop"
    engine.index(
        "v1", [passage("Open until six.", url), passage("Closed on Monday.", url, position=1), AUTHOR]
    )
    engine.index("v1", [passage("Open until nine.", url)])
    hits = engine.search(["open until", "closed on Monday", "Salt Road"], 10, "v1")
    assert sorted(hit.passage.text for hit in hits) == ["Open until nine.", AUTHOR.text]


def test_the_date_of_a_page_comes_back(engine: Bm25TextSearch) -> None:
    dated = Passage(HARBOUR.id, HARBOUR.url, "", HARBOUR.text, 0, datetime(2024, 5, 1, tzinfo=UTC))
    engine.index("v1", [dated])
    assert engine.search(["harbour"], 1, "v1")[0].passage == dated


def test_fused_scores_follow_reciprocal_ranks() -> None:
    first, second, third = (passage(text) for text in ("a", "b", "c"))
    rankings = [
        [Candidate(first, 9.0), Candidate(second, 3.0)],
        [Candidate(second, 2.0), Candidate(third, 1.0)],
    ]
    hits = fuse(rankings, 3)
    assert [hit.passage for hit in hits] == [second, first, third]
    assert [hit.score for hit in hits] == pytest.approx([1 / 61 + 1 / 62, 1 / 61, 1 / 62])


def test_pages_with_equal_ranks_are_settled_by_how_well_they_match() -> None:
    strong, weak, better = (passage(text) for text in ("s", "w", "b"))
    rankings = [
        [Candidate(strong, 9.0), Candidate(weak, 1.0)],
        [Candidate(strong, 9.0), Candidate(better, 8.0)],
    ]
    assert [hit.passage for hit in fuse(rankings, 3)] == [strong, better, weak]


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
