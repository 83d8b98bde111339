"""The engines of CRAG-MM's published indexes, on a list in the place of Chroma."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from chassis.errors import NotSupported
from chassis.rgb import RGB
from chassis.startup import WrongSettings
from chassis.vectors.chroma import ChromaIndex, Neighbour
from services.image_search.engines.crag_mm import CragMmImageSearch
from services.image_search.engines.dense import DenseOptions
from services.text_search.engine import FusedHit
from services.text_search.engines.crag_mm import CragMmTextSearch, page_words

PHOTO = np.zeros((8, 8, 3), np.uint8)


class Listed:
    """An index whose neighbours are listed: of each query, by the first number of its vector."""

    def __init__(self, *rankings: Sequence[Neighbour]) -> None:
        self.rankings = rankings

    def nearest(self, vector: Any, count: int) -> list[Neighbour]:
        """The first ones of the ranking."""
        return list(self.rankings[int(vector[0])][:count])


class Numbered:
    """An encoder of texts and photos: a vector is its input's place."""

    name, size = "numbered", 1

    def queries(self, texts: Sequence[str]) -> list[Any]:
        """A vector a text."""
        return [np.array([place]) for place, _ in enumerate(texts)]

    def views(self, photo: RGB) -> list[RGB]:
        """Three views, of which the engine uses the first."""
        return [photo, photo + 1, photo + 2]

    def forward(self, views: Sequence[RGB]) -> list[Any]:
        """A vector a view."""
        assert not any(view.any() for view in views), "only the centres are searched"
        return [np.array([place]) for place, _ in enumerate(views)]


def chunk(page: str, number: int, cosine: float, **metadata: object) -> Neighbour:
    """A chunk as the official builder describes it."""
    url = f"https://pages.org/{page}"
    facts = {"page_name": page, "page_snippet": "Road &amp;amp; <strong>rail</strong>.", "page_url": url}
    return Neighbour(f"{url}_chunk_{number}", cosine, {**facts, **metadata})


def pages(*rankings: Sequence[Neighbour], k: int, depth: int | None = None) -> list[FusedHit]:
    """The hits for as many queries as there are rankings."""
    engine = CragMmTextSearch(cast(ChromaIndex, Listed(*rankings)), cast(Any, Numbered()))
    return engine.search(["a query"] * len(rankings), k, "pages", depth)


def image(number: int, cosine: float, entities: object, info: object) -> Neighbour:
    """An image as the published index describes it."""
    metadata = {
        "image_url": f"https://pictures.org/{number}.jpg",
        "entities": json.dumps(entities),
        "info": json.dumps(info),
    }
    return Neighbour(str(number), cosine, metadata)


def things(*rankings: Sequence[Neighbour], limit: int) -> list[tuple[str, str, float | None]]:
    """URL's end, entity and cosine of each hit, for as many photos as there are rankings."""
    index = cast(ChromaIndex, Listed(*rankings))
    engine = CragMmImageSearch(index, Numbered(), DenseOptions(), Numbered().forward)
    hits = engine.search([PHOTO] * len(rankings), limit, "images")
    return [(hit.url.rpartition("/")[2], hit.entity, hit.cosine) for hit in hits]


def test_k_counts_chunks_before_they_are_merged_into_pages() -> None:
    ranking = [chunk("a", 3, 0.9), chunk("a", 1, 0.8), chunk("b", 2, 0.7), chunk("c", 1, 0.6)]
    assert [(hit.passage.title, hit.passage.position) for hit in pages(ranking, k=3)] == [("a", 3), ("b", 2)]
    assert len(pages(ranking, k=3, depth=2)) == 1


def test_pages_of_several_queries_are_ordered_by_their_highest_cosine() -> None:
    hits = pages([chunk("a", 1, 0.5), chunk("b", 1, 0.4)], [chunk("b", 2, 0.9)], k=5)
    assert [(hit.passage.title, hit.score, hit.query_indexes) for hit in hits] == [
        ("b", 0.9, (0, 1)),
        ("a", 0.5, (0,)),
    ]


@pytest.mark.parametrize(
    ("metadata", "title", "text"),
    [({}, "a", "Road & rail."), ({"page_name": 7, "page_snippet": None}, "", "")],
)
def test_snippet_replaces_the_chunk_without_a_page_store(
    metadata: Mapping[str, object], title: str, text: str
) -> None:
    (hit,) = pages([chunk("a", 1, 0.5, **metadata)], k=1)
    assert (hit.passage.title, hit.passage.text) == (title, text)


@pytest.mark.parametrize(
    "metadata", [{"page_url": "javascript:alert(1)"}, {"page_url": "file:///etc/passwd"}, {"page_url": "x"}]
)
def test_a_page_without_a_web_address_is_left_out(metadata: Mapping[str, object]) -> None:
    assert pages([chunk("a", 1, 0.5, **metadata)], k=1) == []


def test_a_stored_page_is_cut_into_the_words_of_its_text() -> None:
    page = (
        "<title>Mill</title><style>p {}</style><script>run()</script><!-- no --><p>Built&nbsp;in <b>1820</b>"
    )
    assert page_words(json.dumps({"page_result": page}).encode()) == ["Mill", "Built", "in", "1820"]
    assert " ".join(page_words(b'{"page_result": "a \\ud800"}')).encode().startswith(b"a")


@pytest.mark.parametrize("page", [b"", b"{", b"[]", b'{"page_result": 7}', b'{"page_result": ""}'])
def test_an_unreadable_page_has_no_words(page: bytes) -> None:
    assert page_words(page) == []


def test_limit_counts_images_and_each_entity_is_a_hit() -> None:
    both = image(1, 0.9, ["Tower", "River"], {"Tower": {"height": "{{convert|12|m|ft}}"}, "River": "wide"})
    ranking = [both, image(2, 0.8, "Tower", {}), image(3, 0.7, "Bridge", {})]
    assert things(ranking, limit=2) == [
        ("1.jpg", "Tower", 0.9),
        ("1.jpg", "River", 0.9),
        ("2.jpg", "Tower", 0.8),
    ]


def test_an_image_counts_once_for_all_photos() -> None:
    tower, bridge = image(1, 0.5, "Tower", {}), image(2, 0.6, "Bridge", {})
    nearer = image(1, 0.8, "Tower", {})
    assert things([tower, bridge], [nearer], limit=2) == [("1.jpg", "Tower", 0.8), ("2.jpg", "Bridge", 0.6)]


@pytest.mark.parametrize("entities", ["{", "7", '{"a": 1}', "[]", '[""]', "[null]", "[" * 100_000, None])
def test_an_image_without_a_readable_name_is_left_out(entities: str | None) -> None:
    described = {"image_url": "https://pictures.org/1.jpg", "entities": entities, "info": "[]"}
    assert things([Neighbour("1", 0.9, described)], limit=1) == []


def test_text_queries_need_a_text_encoder() -> None:
    engine = CragMmImageSearch(cast(ChromaIndex, Listed([])), Numbered(), DenseOptions(), Numbered().forward)
    with pytest.raises(NotSupported):
        engine.search_texts(["a tower"], 1, "images")


def test_folder_without_an_index_is_reported(tmp_path: Path) -> None:
    with pytest.raises(WrongSettings, match=r"holds no chroma\.sqlite3"):
        ChromaIndex(tmp_path, "web_search_embeddings", 4)
