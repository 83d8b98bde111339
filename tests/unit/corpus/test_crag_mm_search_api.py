"""The search API's results, from a pipeline that answers as the package's does."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from chassis.errors import LoreglassError
from corpus.crag_mm.search_api import FoundPage, SearchApi, SearchApiError
from tests.unit.chassis.picture_hosts import picture

GRAPH: dict[str, Any] = {"The Salt Road": {"author": "[[Mira Holm]]<br />", "height": "{{convert|24|cm|in}}"}}


class Package:
    """Gives what it holds, `k` at most, and refuses to open anything."""

    def __init__(self, results: Sequence[Any]) -> None:
        self.results = results
        self.asked: list[tuple[Any, int]] = []

    def __call__(self, query: Image.Image | str, /, k: int) -> Any:
        assert isinstance(query, Image.Image) or not (os.path.isfile(query) or query.startswith("http"))
        self.asked.append((query, k))
        return list(self.results[:k])


def image(index: int, url: str = "", attributes: Any = None, score: Any = 0.5) -> dict[str, Any]:
    entity = {
        "entity_name": "The Salt Road",
        "entity_attributes": attributes if attributes is not None else {},
    }
    return {
        "index": index,
        "score": score,
        "url": url or f"https://a.example/{index}.jpg",
        "entities": [entity],
    }


def page(url: str, chunk: int, score: float = 0.5, **more: Any) -> dict[str, Any]:
    told = {
        "page_name": "Salt &amp; Roads",
        "page_snippet": "It&#x27;s <strong>long</strong>.",
        "page_url": url,
    }
    return {"index": f"{url}_chunk_{chunk}", "score": score, **told, **more}


def api(results: Sequence[Any]) -> SearchApi:
    return SearchApi(lambda: Package(results))


def test_a_photo_finds_pictures_with_clean_attributes() -> None:
    (hit,) = api([image(7, attributes=GRAPH["The Salt Road"], score=0.81)]).images(picture()).hits
    assert (hit.index, hit.score, hit.url) == (7, 0.81, "https://a.example/7.jpg")
    assert hit.entities[0].name == "The Salt Road"
    assert dict(hit.entities[0].attributes) == {"author": "Mira Holm", "height": "24 cm"}


@pytest.mark.parametrize(
    ("attributes", "clean"),
    [
        ("a [[road]]", {"description": "a road"}),
        ("{{Infobox}}", {}),
        ("| length = 3 [[mile|miles]]", {"length": "3 miles"}),
        ('{"length": "3 miles"}', {"length": "3 miles"}),
        ({}, {}),
    ],
)
def test_attributes_may_be_a_text(attributes: Any, clean: dict[str, str]) -> None:
    (hit,) = api([image(1, attributes=attributes)]).images(picture()).hits
    assert dict(hit.entities[0].attributes) == clean


def test_results_are_copies_that_cannot_be_written_to() -> None:
    graph = {"author": "Mira Holm"}
    (hit,) = api([image(1, attributes=graph)]).images(picture()).hits
    graph["author"] = "Somebody else"
    assert hit.entities[0].attributes["author"] == "Mira Holm"
    with pytest.raises(TypeError):
        hit.entities[0].attributes["author"] = "x"  # type: ignore[index]


def test_entities_of_snippets_are_decoded_and_the_chunk_is_told_apart() -> None:
    (hit,) = api([page("https://a.example/b", 12, 0.7)]).pages("how long is it?").hits
    assert hit == FoundPage("https://a.example/b", "Salt & Roads", "It's long.", 0.7, 12)


def test_pages_are_asked_for_in_excess_until_there_are_enough() -> None:
    same = [page("https://a.example/same", chunk, 0.9 - chunk / 1000) for chunk in range(40)]
    others = [page(f"https://a.example/{place}", 0, 0.4 - place / 100) for place in range(4)]
    package = Package([*same, *others])
    hits = SearchApi(lambda: package).pages("salt", k=3).hits
    assert [hit.url.rpartition("/")[2] for hit in hits] == ["same", "0", "1"]
    assert [k for _, k in package.asked] == [9, 27, 81]


def test_the_best_of_several_results_of_one_url_is_kept() -> None:
    results = [page("https://a.example/b", 1, 0.2), page("https://a.example/b", 2, 0.6)]
    assert [hit.chunk for hit in api(results).pages("salt").hits] == [2]


def test_asking_ends_where_there_is_no_more() -> None:
    package = Package([page("https://a.example/b", 1)])
    assert len(SearchApi(lambda: package).pages("salt", k=50).hits) == 1
    assert max(k for _, k in package.asked) <= 300


def test_the_pipeline_is_made_once_and_only_when_it_is_asked() -> None:
    made: list[Package] = []

    def make() -> Package:
        made.append(Package([image(1)]))
        return made[-1]

    lazy = SearchApi(make)
    assert not made
    lazy.images(picture())
    lazy.images(picture())
    assert len(made) == 1


@pytest.mark.parametrize(
    "query", ["http://169.254.169.254/", "https://a.example/b.jpg", "HTTP status codes", "httpd"]
)
def test_a_url_is_searched_for_and_never_opened(query: str) -> None:
    package = Package([page("https://a.example/b", 0)])
    assert SearchApi(lambda: package).pages(query).hits
    assert package.asked[0][0] == f'"{query}"'


def test_a_path_is_searched_for_and_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "salt").write_text("secret")
    monkeypatch.chdir(tmp_path)
    package = Package([])
    for query in ("salt", str(tmp_path / "salt"), " salt ", "/etc/passwd", "salt\0"):
        SearchApi(lambda: package).pages(query)
    assert all(query.startswith('"') for query, _ in package.asked)
    (tmp_path / '"salt"').write_text("secret")
    with pytest.raises(SearchApiError, match="a file"):
        SearchApi(lambda: package).pages("salt")


@pytest.mark.parametrize("photo", ["/etc/passwd", "https://a.example/b.jpg", Path("/etc/passwd")])
def test_a_photo_is_never_a_path_or_a_url(photo: Any) -> None:
    package = Package([])
    with pytest.raises(SearchApiError, match="bytes"):
        SearchApi(lambda: package).images(photo)
    assert not package.asked


def test_what_is_no_photo_is_refused_before_the_package_sees_it() -> None:
    package = Package([])
    with pytest.raises(LoreglassError):
        SearchApi(lambda: package).images(b"<svg>")
    assert not package.asked


def test_an_empty_query_finds_nothing() -> None:
    assert api([page("https://a.example/b", 0)]).pages(" \0 ").hits == ()


@pytest.mark.parametrize(
    "bad",
    [
        *(
            None,
            "text",
            {},
            image(1, url="file:///etc/passwd"),
            image(1, score="high"),
            image(1, score=float("nan")),
            image(1, score=10**400),
        ),
        *({**image(1), "index": "1"}, {**image(1), "entities": None}, {**image(1), "entities": [None]}),
        {**image(1), "entities": [{"entity_attributes": {}}]},
    ],
)
def test_a_bad_result_is_left_out_and_named(bad: Any) -> None:
    found = api([bad, image(2)]).images(picture())
    assert [hit.index for hit in found.hits] == [2]
    assert len(found.rejected) == 1
    assert found.rejected[0].startswith("result 0: ")


def test_a_pipeline_that_fails_is_one_kind_of_error() -> None:
    def broken(query: Image.Image | str, /, k: int) -> Any:
        raise RuntimeError("CUDA error at /home/somebody")

    with pytest.raises(SearchApiError, match=r"failed \(RuntimeError\)\.$"):
        SearchApi(lambda: broken).pages("salt")

    def not_installed() -> Any:
        raise ModuleNotFoundError("cragmm_search")

    with pytest.raises(SearchApiError, match=r"failed \(ModuleNotFoundError\)\.$"):
        SearchApi(not_installed).pages("salt")
    with pytest.raises(SearchApiError, match="no list"):
        SearchApi(lambda: lambda query, /, k: None).pages("salt")
