"""The builtin text search, the terms of a text, and the service over HTTP."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from chassis.vectors.edge import EdgeStore
from services.text_search.app import create_app
from services.text_search.engine import Candidate, Passage
from services.text_search.engines.indexed import IndexedTextSearch
from services.text_search.lexical import terms
from services.text_search.pages import fuse
from services.text_search.settings import TextSearchSettings
from tests.live import live
from tests.unit.services.text_search_calls import chunk, passage, publish


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[IndexedTextSearch]:
    opened = IndexedTextSearch(EdgeStore(tmp_path))
    opened.store.create("v1", opened.schema)
    yield opened
    opened.store.close()


HARBOUR = passage("The harbour of Lindvik was dredged twice.", title="Lindvik")
AUTHOR = passage("The Salt Road was written by Mira Holm in 1956.", title="The Salt Road")
PAGES = passage("It runs to 312 pages and was printed in Oslo.", title="The Salt Road (first edition)")
MENU = passage("The soup of the day costs 6.50 euros.", title="Café Nord menu")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who wrote The Salt Road?", [AUTHOR, PAGES]),
        ("How much is the soup?", [MENU]),
        ("How many pages has The Salt Road?", [PAGES, AUTHOR]),  # only the title of PAGES names the book
        ("?!", []),
    ],
)
def test_relevant_passage_ranks_first(
    engine: IndexedTextSearch, question: str, expected: list[Passage]
) -> None:
    engine.index("v1", [HARBOUR, AUTHOR, PAGES, MENU])
    assert [hit.passage for hit in engine.search([question], 3, "v1")] == expected


def test_depth_counts_pages_with_their_two_best_passages(engine: IndexedTextSearch) -> None:
    url = "https://pages.example/long"
    long = [passage(f"The harbour of Lindvik, part {number}.", url, position=number) for number in range(9)]
    others = [passage(f"A harbour, long forgotten, number {number}, far away.") for number in range(9)]
    lit = passage("The harbour of Lindvik was lit in 1911.", url, position=9)
    engine.index("v1", [*long, lit, *others])
    query = ["harbour of Lindvik"]
    assert [len(engine.search(query, 6, "v1", depth)) for depth in (10, 13, None)] == [2, 5, 6]
    assert len(engine.search([*query, "forgotten"], 6, "v1", 3)) == 5
    passages = [hit.passage for hit in engine.search(["harbour of Lindvik lit in 1911"], 6, "v1")]
    assert [each.address for each in passages].count(url) == 2
    assert next(each for each in passages if each.address == url) == lit


def test_each_hit_has_its_sub_queries(engine: IndexedTextSearch) -> None:
    engine.index("v1", [HARBOUR, AUTHOR, MENU])
    hits = engine.search(["harbour of Lindvik", "written by Mira Holm", "Lindvik"], 5, "v1")
    assert {hit.passage.title: hit.query_indexes for hit in hits} == {
        "Lindvik": (0, 2),
        "The Salt Road": (1,),
    }
    assert hits[0].passage == HARBOUR


def test_invalid_passages_are_reported_and_others_indexed(engine: IndexedTextSearch) -> None:
    wordless = passage("…", "https://pages.example/empty")
    nameless = Passage("7", "https://pages.example/7", "", "Seven.", 0)
    halved = Passage(AUTHOR.id, "https://pages.example/\ud83d", "", "Half a \ud83d face.", 0)
    assert set(engine.index("v1", [wordless, nameless, halved, HARBOUR])) == {wordless.id, "7", AUTHOR.id}
    assert [hit.passage for hit in engine.search(["harbour", "seven"], 5, "v1")] == [HARBOUR]


def test_an_edited_page_never_answers_with_its_old_text(engine: IndexedTextSearch) -> None:
    url = "https://pages.example/shop"
    engine.index(
        "v1", [passage("Open until six.", url), passage("Closed on Monday.", url, position=1), AUTHOR]
    )
    engine.index("v1", [passage("Open until nine.", url)])
    hits = engine.search(["open until", "closed on Monday", "Salt Road"], 10, "v1")
    assert sorted(hit.passage.text for hit in hits) == ["Open until nine.", AUTHOR.text]


def test_fused_scores_follow_reciprocal_ranks() -> None:
    first, second, third = (passage(text) for text in ("a", "b", "c"))
    rankings = [
        [Candidate(first, 9.0), Candidate(second, 3.0)],
        [Candidate(second, 2.0), Candidate(third, 1.0)],
    ]
    hits = fuse(rankings, 3)
    assert [hit.passage for hit in hits] == [second, first, third]
    assert [hit.score for hit in hits] == pytest.approx([1 / 61 + 1 / 62, 1 / 61, 1 / 62])


def test_equal_ranks_are_ordered_by_score() -> None:
    strong, weak, better = (passage(text) for text in ("s", "w", "b"))
    rankings = [
        [Candidate(strong, 9.0), Candidate(weak, 1.0)],
        [Candidate(strong, 9.0), Candidate(better, 8.0)],
    ]
    assert [hit.passage for hit in fuse(rankings, 3)] == [strong, better, weak]


@pytest.mark.parametrize(
    ("written", "query"),
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
def test_spelling_variants_share_terms(written: str, query: str) -> None:
    assert set(terms(written)) & set(terms(query))


def test_stopwords_count_only_without_other_terms() -> None:
    assert terms("Who wrote it?") == ["wrote"]
    assert terms("The Who") == ["the", "who"]
    assert terms("3.5 and 35") == ["3.5", "35"]


def test_long_words_are_not_cached() -> None:
    tracemalloc.start()
    try:
        for number in range(40):
            terms(f"{'x' * 20_000}{'yz'[number % 2] * number}")
        assert tracemalloc.get_traced_memory()[0] < 200_000
    finally:
        tracemalloc.stop()


@pytest.fixture
def settings(tmp_path: Path) -> TextSearchSettings:
    return TextSearchSettings(port=0, data_dir=tmp_path / "vectors")


async def test_published_page_is_found_with_its_metadata(settings: TextSearchSettings) -> None:
    written = chunk("The lamp was lit in 1911.", title="Lighthouse", last_modified="2024-05-01T00:00:00Z")
    async with live(create_app(settings)) as client:
        await publish(client, "pages-1", [written])
        reply = await client.post("/v1/text-search", json={"queries": ["When was the lamp lit?"]})
    assert reply.json() == {
        "hits": [
            {
                "id": written["id"],
                "url": written["url"],
                "title": "Lighthouse",
                "snippet": written["text"],
                "last_modified": "2024-05-01T00:00:00Z",
                "score": pytest.approx(1 / 61),
                "query_indexes": [0],
                "sections": [],
            }
        ],
        "collection": "pages",
    }


async def test_complete_pages_are_returned_in_request_order(settings: TextSearchSettings) -> None:
    first, second = ("https://pages.example/a", "https://pages.example/b")
    parts = [chunk(f"Part {number}.", url=first, position=number) for number in (2, 0, 1)]
    async with live(create_app(settings)) as client:
        absent = await client.post("/v1/text-search", json={"queries": ["harbour"]})
        await publish(client, "pages-1", [*parts, chunk("Another page.", url=second)])
        request = {"addresses": [second, first, "https://pages.example/none"], "k": 3}
        reply = await client.post("/v1/text-search/pages", json=request)
        refused = await client.delete("/v1/collections/pages-1")
    assert [hit["snippet"] for hit in reply.json()["hits"]] == ["Another page.", "Part 0.", "Part 1."]
    assert absent.json()["type"] == "urn:loreglass:problem:collection_not_found"
    assert refused.status_code == 409
