"""Index CRAG-MM's published indexes into running services."""

import io
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np
import pytest
from fastapi import FastAPI
from PIL import Image
from typer.testing import CliRunner

from chassis.http.fetching import PublicFetcher
from chassis.picture_cache import PictureCache
from corpus.cli import app
from corpus.crag_mm.chroma import LONGEST_VALUE, ChromaCollection
from corpus.crag_mm.image_index import Pictures, image_source
from corpus.crag_mm.web_index import page_source
from corpus.ingest import IngestOptions, IngestReport, index_pages, index_photos
from corpus.items import PhotoItem
from corpus.jsonl import ManifestError, Rejected
from services.image_search.app import create_app as image_search
from services.image_search.settings import ImageSearchSettings
from services.text_search.app import create_app as text_search
from services.text_search.settings import TextSearchSettings
from tests.live import live
from tests.unit.chassis.picture_hosts import Host, picture_host
from tests.unit.corpus.chroma_folders import chroma_folder, image_index, shown, web_index

pytestmark = pytest.mark.anyio

SALT = {"author": "[[Mira Holm]]", "height": "{{convert|24|cm|in}}"}


@pytest.fixture
def host() -> Iterator[Host]:
    with picture_host() as host:
        yield host


def textured(seed: int) -> bytes:
    """A picture that has something to recognise."""
    noise = np.random.default_rng(seed).integers(0, 256, (24, 24, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(noise).resize((240, 240), Image.Resampling.BICUBIC).save(buffer, "JPEG")
    return buffer.getvalue()


def pictures(folder: Path, contents: Mapping[str, bytes], *, fetch: bool = False) -> Pictures:
    """Held in a local folder."""
    local = folder / "photos"
    local.mkdir(exist_ok=True)
    for name, content in contents.items():
        (local / name).write_bytes(content)
    fetcher = PublicFetcher(is_allowed=lambda address: address == "127.0.0.1")
    return Pictures(PictureCache(folder / "cache", fetcher), local, fetch)


def items(folder: Path, pictures: Pictures) -> tuple[list[PhotoItem], list[Rejected]]:
    made = list(image_source(folder, pictures).items())
    return [each for each in made if isinstance(each, PhotoItem)], [
        each for each in made if isinstance(each, Rejected)
    ]


def text_service(folder: Path) -> FastAPI:
    return text_search(TextSearchSettings(port=0, data_dir=folder / "vectors"))


async def into(client: httpx.AsyncClient, folder: Path, **options: Any) -> IngestReport:
    return await index_pages(page_source(folder), str(client.base_url), IngestOptions(**options))


async def test_photos_of_the_index_are_found_again_with_clean_attributes(tmp_path: Path) -> None:
    url = "https://upload.example/commons/The%20Salt.jpg"
    folder = image_index(tmp_path / "index", [shown(url, **{"The Salt Road": SALT})])
    local = pictures(tmp_path, {"The Salt.jpg": textured(1)})
    service = image_search(ImageSearchSettings(port=0, data_dir=tmp_path / "vectors", workers=1))
    async with live(service) as client:
        for indexed in (1, 0):
            report = await index_photos(image_source(folder, local), str(client.base_url), IngestOptions())
            assert (report.indexed, report.unchanged, report.rejected) == (indexed, 1 - indexed, ())
        reply = await client.post("/v1/image-search", files=[("images", ("a", textured(1)))], data={"k": "1"})
    (hit,) = reply.json()["hits"]
    assert (hit["entity"], hit["url"]) == ("The Salt Road", url)
    assert hit["attributes"] == {"author": "Mira Holm", "height": "24 cm"}


def test_every_entity_of_a_photo_is_indexed(tmp_path: Path) -> None:
    entry = shown(
        "https://a.example/b.jpg", Salt=SALT, Pepper="a spice", Cumin="{{Infobox}}\n| use = [[Tea]]"
    )
    entry["info"] = json.dumps({"Salt": SALT, "Pepper": "a spice"})
    entry["entities"] = json.dumps(["Salt", "Pepper", "Cumin"])
    folder = image_index(tmp_path / "index", [entry, {**entry, "entities": json.dumps("Salt")}])
    local = pictures(tmp_path, {"b.jpg": textured(1)})
    made, rejected = items(folder, local)
    assert [(each.item.entity, each.item.attributes) for each in made] == [
        ("Salt", {"author": "Mira Holm", "height": "24 cm"}),
        ("Pepper", {"description": "a spice"}),
        ("Cumin", {}),
    ]
    assert "already at" in rejected[0].reason
    assert image_source(folder, local).count() == 4


def test_long_url_names_find_local_pictures(
    tmp_path: Path,
) -> None:
    name = "Соляная дорога и старый мост через реку в тумане.jpg"
    folder = image_index(
        tmp_path / "index", [shown(f"https://a.example/{quote(each)}", X={}) for each in (name, "я" * 200)]
    )
    made, rejected = items(folder, pictures(tmp_path, {name: textured(1)}))
    assert [each.photo.name for each in made] == [name]
    assert [each.where for each in rejected] == ["image 1"]


def test_missing_pictures_are_fetched_once(host: Host, tmp_path: Path) -> None:
    urls = [f"{host.url}/{name}" for name in ("red.jpg", "blue.png", "gone", "red.gif")]
    folder = image_index(tmp_path / "index", [shown(url, Thing={}) for url in urls])
    for _ in range(2):
        made, rejected = items(folder, pictures(tmp_path, {}, fetch=True))
        assert [each.item.url for each in made] == urls[:2]
        assert [each.where for each in rejected] == ["image 2", "image 3"]
        assert "404" in rejected[0].reason
    assert host.asked["/red.jpg"] == host.asked["/blue.png"] == 1


def test_only_local_pictures_without_fetching(host: Host, tmp_path: Path) -> None:
    folder = image_index(tmp_path / "index", [shown(f"{host.url}/red.jpg", Thing={})])
    made, rejected = items(folder, pictures(tmp_path, {}))
    assert (made, len(rejected)) == ([], 1)
    assert not host.asked


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {**shown("https://a.example/b.jpg", X={}), "image_url": 7},
        {**shown("https://a.example/b.jpg", X={}), "image_url": ""},
        {**shown("file:///etc/passwd", X={})},
        {**shown("https://a.example/b.jpg", X={}), "entities": "["},
        {**shown("https://a.example/b.jpg", X={}), "entities": "[" * 100_000},
        {**shown("https://a.example/b.jpg", X={}), "entities": "[]"},
        {**shown("https://a.example/b.jpg", X={}), "entities": "[[1]]"},
        {**shown("https://a.example/b.jpg", X={}), "entities": '[""]'},
        {**shown("https://a.example/b.jpg", X={}), "entities": json.dumps(["x" * 5000])},
        {**shown("https://a.example/b.jpg", X={}), "info": "[]"},
        {**shown("https://a.example/b.jpg", X=["a list"])},
    ],
)
def test_a_bad_entry_of_the_image_index_is_named(tmp_path: Path, entry: dict[str, Any]) -> None:
    folder = image_index(tmp_path / "index", [entry, shown("https://a.example/good.jpg", Good={})])
    made, rejected = items(folder, pictures(tmp_path, {"good.jpg": textured(2), "b.jpg": textured(3)}))
    assert [each.item.entity for each in made] == ["Good"]
    assert [each.where for each in rejected] == ["image 0"]


@pytest.mark.parametrize("name", ["", "..", "%2e%2e", "..%2f..%2fsecret.jpg", "%00", "link.jpg"])
def test_url_cannot_escape_the_picture_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.jpg").write_bytes(textured(1))
    local = pictures(tmp_path, {})
    (tmp_path / "photos" / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    folder = image_index(tmp_path / "index", [shown(f"https://a.example/{name}", X={})])
    assert items(folder, local)[0] == []


async def test_passages_keep_their_order(tmp_path: Path) -> None:
    told = [f"The {name} road is {place} miles long." for place, name in enumerate("abcdefghijkl")]
    folder = web_index(
        tmp_path / "index",
        {"https://a.example/b": told, "https://a.example/c": ["A &lt; B &amp;amp; <strong>C</strong>"]},
        "Salt &amp; Roads",
    )
    async with live(text_service(tmp_path)) as client:
        report = await into(client, folder)
        assert (report.indexed, report.rejected) == (2, ())
        assert (await into(client, folder)).unchanged == 2
        reply = await client.post("/v1/text-search", json={"queries": ["how long is the road"], "k": 5})
    hit = reply.json()["hits"][0]
    assert (hit["url"], hit["title"]) == ("https://a.example/b", "Salt & Roads")
    (first, second) = (each for each in page_source(folder).items() if not isinstance(each, Rejected))
    assert [chunk.text for chunk in first.chunks] == told
    assert [chunk.text for chunk in second.chunks] == ["A < B & C"]


def test_the_same_snippet_for_every_chunk_is_one_passage(tmp_path: Path) -> None:
    folder = web_index(tmp_path / "index", {"https://a.example/b": ["The same."] * 20})
    (item,) = page_source(folder).items()
    assert not isinstance(item, Rejected)
    assert [chunk.text for chunk in item.chunks] == ["The same."]


def test_a_snippet_that_is_too_long_is_cut(tmp_path: Path) -> None:
    (item,) = page_source(web_index(tmp_path / "i", {"https://a.example/b": ["A long tale. " * 400]})).items()
    assert not isinstance(item, Rejected)
    assert len(item.chunks) > 1


@pytest.mark.parametrize("url", ["", "file:///etc/passwd", "nowhere", "javascript:alert(1)"])
def test_a_page_without_a_web_address_is_named(tmp_path: Path, url: str) -> None:
    made = list(
        page_source(web_index(tmp_path / "i", {url: ["text"], "https://a.example/b": ["text"]})).items()
    )
    assert sum(isinstance(each, Rejected) for each in made) == 1
    assert len(made) == 2


def test_a_page_without_text_is_named(tmp_path: Path) -> None:
    (made,) = page_source(web_index(tmp_path / "i", {"https://a.example/b": [" ", "<br />"]})).items()
    assert isinstance(made, Rejected)
    assert made.where == "page https://a.example/b"


def test_a_changed_file_is_another_version(tmp_path: Path) -> None:
    folder = web_index(tmp_path / "i", {"https://a.example/b": ["one"]})
    before = page_source(folder).digest()
    assert before == page_source(folder).digest()
    with sqlite3.connect(folder / "chroma.sqlite3") as connection:
        connection.execute("CREATE TABLE more AS SELECT * FROM embeddings")
        connection.execute("INSERT INTO more SELECT randomblob(9000), '', '', ''")
    connection.close()
    assert page_source(folder).digest() != before


def test_view_is_not_queried(tmp_path: Path) -> None:
    """It would run what its author wrote, for as long as its author likes."""
    folder = web_index(tmp_path / "i", {"https://a.example/b": ["one"]})
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as connection, connection:
        connection.execute("ALTER TABLE embeddings RENAME TO kept")
        connection.execute("CREATE VIEW embeddings AS SELECT * FROM kept")
    with pytest.raises(ManifestError, match="tables are missing"):
        list(page_source(folder).items())


def test_huge_text_is_refused(tmp_path: Path) -> None:
    folder = web_index(tmp_path / "i", {"https://a.example/b": ["a" * (LONGEST_VALUE + 1)]})
    with pytest.raises(ManifestError, match="too big"):
        list(page_source(folder).items())


def damaged(folder: Path, how: str) -> Path:
    if how == "other":
        return chroma_folder(folder, {"something_else": {}})
    folder.mkdir()
    if how == "text":
        (folder / "chroma.sqlite3").write_text("no database")
    if how == "empty":
        sqlite3.connect(folder / "chroma.sqlite3").close()
        (folder / "chroma.sqlite3").touch()
    return folder


@pytest.mark.parametrize("how", ["absent", "text", "empty", "other"])
@pytest.mark.parametrize("command", ["crag-images", "crag-pages"])
def test_folder_without_index_exits_1(tmp_path: Path, how: str, command: str) -> None:
    folder = damaged(tmp_path / "index", how)
    result = CliRunner().invoke(app, [command, str(folder)])
    assert result.exit_code == 1
    assert "chroma.sqlite3" in result.output.replace("\n", "")
    assert "Traceback" not in result.output
    with pytest.raises(ManifestError):
        list(ChromaCollection(folder, "image_embeddings").records())
