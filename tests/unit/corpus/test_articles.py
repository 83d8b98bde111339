"""Index a knowledge base of articles in the shape of E-VQA's."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from chassis.picture_cache import PictureCache
from corpus.articles import Article, Pictures, article_pages, article_pictures, read_articles
from corpus.ingest import PAGES, IngestOptions, index_source
from corpus.items import PageItem, PhotoItem
from corpus.manifests import ManifestError, Rejected
from services.text_search.app import create_app
from services.text_search.settings import TextSearchSettings
from tests.live import live
from tests.unit.chassis.picture_hosts import picture

HARE = "https://en.wikipedia.org/wiki/Moss_hare"
PICTURE = "https://upload.example/commons/Moss%20hare.jpg"


def article(title: str, *sections: tuple[str, str], pictures: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "title": title,
        "section_titles": [name for name, _ in sections],
        "section_texts": [text for _, text in sections],
        "image_urls": list(pictures),
        "image_reference_descriptions": ["" for _ in pictures],
        "image_section_indices": [0 for _ in pictures],
    }


MOSS_HARE = article(
    "Moss hare",
    ("Moss hare", "The moss hare is small.\nIt lives near Harl."),
    ("Diet", "It eats moss."),
    ("Range", "It is found in Lisk. " * 200),
    pictures=(PICTURE, PICTURE, "https://upload.example/gone.jpg", "file:///etc/hostname"),
)


KNOWN = {HARE: MOSS_HARE}


def knowledge_base(folder: Path, content: Any = KNOWN) -> Path:
    file = folder / "kb.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
    return file


def test_an_article_is_a_page_and_each_passage_is_of_one_section(tmp_path: Path) -> None:
    (page,) = article_pages(knowledge_base(tmp_path)).items()
    assert isinstance(page, PageItem)
    first, diet, *ranges = page.chunks
    assert (first.title, first.url) == ("Moss hare", HARE)
    assert first.text == "The moss hare is small.\nIt lives near Harl."
    assert (diet.text, diet.sections) == ("Diet\nIt eats moss.", ["Diet"])
    assert len(ranges) > 1  # too long for one passage
    assert all(each.sections == ["Range"] for each in ranges)
    assert {each.address for each in page.chunks} == {HARE}


async def test_complete_article_is_found_by_its_address(tmp_path: Path) -> None:
    source = article_pages(knowledge_base(tmp_path))
    async with live(create_app(TextSearchSettings(port=0, data_dir=tmp_path / "vectors"))) as client:
        report = await index_source(PAGES, source, str(client.base_url), IngestOptions())
        reply = await client.post("/v1/text-search/pages", json={"addresses": [HARE]})
    assert (report.added, report.rejected) == (1, ())
    sections = [hit["sections"] for hit in reply.json()["hits"]]
    assert sections[:3] == [[], ["Diet"], ["Range"]]


def test_pictures_are_photos_of_the_articles_subject(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/Moss hare.jpg").write_bytes(picture())
    pictures = Pictures(PictureCache(tmp_path / "cache"), tmp_path / "photos", fetch=False)
    source = article_pictures(knowledge_base(tmp_path, {"https://a.example/bad": {}, **KNOWN}), pictures)
    nameless, photo, missing = source.items()
    assert isinstance(nameless, Rejected)
    assert isinstance(photo, PhotoItem)
    assert (photo.item.entity, photo.item.url) == ("Moss hare", HARE)
    assert missing == Rejected(f"article {HARE}", "1 of 2 pictures are not to be had.")
    assert source.count() == 3


def test_articles_are_read_in_pieces(tmp_path: Path) -> None:
    long = {f"https://a.example/{n}": article(str(n), ("x", "word " * 50_000)) for n in range(160)}
    file = knowledge_base(tmp_path, long)
    assert file.stat().st_size > 32 * 2**20
    del long
    tracemalloc.start()
    assert sum(1 for _ in read_articles(file)) == 160
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * 2**20


@pytest.mark.parametrize(
    "fields",
    [
        {**MOSS_HARE, "title": 7},
        {**MOSS_HARE, "section_texts": "It is small."},
        {**MOSS_HARE, "section_texts": [" ", None, 5]},
        {},
    ],
)
def test_an_article_without_title_or_text_is_named(tmp_path: Path, fields: dict[str, Any]) -> None:
    bad, good = read_articles(knowledge_base(tmp_path, {"https://a.example/bad": fields, **KNOWN}))
    assert isinstance(bad, Rejected)
    assert bad.where == "article https://a.example/bad"
    assert isinstance(good, Article)


@pytest.mark.parametrize("url", ["", "Moss hare", "file:///etc/passwd", "https://[", "x" * 5000])
def test_an_article_without_a_web_address_is_named(tmp_path: Path, url: str) -> None:
    (bad,) = read_articles(knowledge_base(tmp_path, {url: MOSS_HARE}))
    assert isinstance(bad, Rejected)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{", "{\0}", '{"a"', '{"a": 1}', '{"a": {}', '{"a": {} "b": {}}'),
        '{"a": ' + "[" * 100_000,
        '{"a": {"b": "' + "x" * 9 * 2**20,
    ],
    ids=range(10),
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ManifestError, match="is not a knowledge base"):
        list(read_articles(knowledge_base(tmp_path, text)))
