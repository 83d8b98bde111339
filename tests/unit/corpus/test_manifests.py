"""Manifests: each bad record is rejected with its reason and does not end the run."""

import io
import json
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PIL import Image

from corpus import manifests
from corpus.items import PageItem, page_items
from corpus.manifests import ManifestError, Rejected
from corpus.records import LARGEST_PHOTO, PhotoRecord, read_pages, read_photos
from corpus.sources import count_records, manifest_digest, name_of
from corpus.values import moment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.jpg").write_bytes(b"not looked at here")
    (tmp_path / "empty.jpg").write_bytes(b"")
    with (tmp_path / "huge.jpg").open("wb") as stream:
        stream.truncate(LARGEST_PHOTO + 1)
    return tmp_path


PHOTO = '{"photo": "a.jpg", "entity": "A", '
PAGE = '{"url": "https://a.example", '


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "A mill."}', '"url" is missing.'),
        ('{"text": "A mill.", "url": "/mill"}', '"url" is not an absolute http, https or file URL.'),
        (PAGE + '"text": "  "}', 'There is neither "html" nor "text".'),
        (PAGE + '"text": "A mill.", "last_modified": "soon"}', '"last_modified" is not a date.'),
        ("{", "The line is not JSON (column 2)."),
        ("[1]", "The line is not a JSON object."),
        (b'{"photo": "\xff"}', "The line is not UTF-8."),
        ("[" * 100_000, "The JSON is nested too deeply."),
        ('{"entity": "A"}', '"photo" is missing.'),
        ('{"photo": "a.jpg"}', '"entity" is missing.'),
        ('{"photo": "a.jpg", "entity": " "}', '"entity" is empty.'),
        ('{"photo": "a.jpg", "entity": 7}', '"entity" is not a text.'),
        ('{"photo": "none.jpg", "entity": "A"}', "The photo is not there."),
        ('{"photo": "a\\u0000b.jpg", "entity": "A"}', "The photo is not there."),
        ('{"photo": ".", "entity": "A"}', "The photo is not a file."),
        (PHOTO + '"attributes": [1]}', '"attributes" is neither an object nor a text.'),
        (PHOTO + '"url": "javascript:alert(1)"}', '"url" is not an absolute http, https or file URL.'),
        (PHOTO + '"entity": "B"}', 'The line has "entity" twice.'),
    ],
)
def test_a_bad_line_is_named_with_its_reason(folder: Path, line: bytes | str, reason: str) -> None:
    manifest = folder / "lines.jsonl"
    manifest.write_bytes(line if isinstance(line, bytes) else line.encode())
    read = read_pages if '"text"' in str(line) else read_photos
    assert list(read(manifest)) == [Rejected("line 1", reason)]


def test_good_lines_are_read_around_bad_and_empty_ones(folder: Path) -> None:
    url, facts = "https://a.example", {"built": 1820}
    good = json.dumps({"photo": "a.jpg", "entity": "The  mill", "attributes": facts, "url": url}).encode()
    manifest = folder / "images.jsonl"
    manifest.write_bytes(b"\xef\xbb\xbf" + good + b"\r\n\n{\n" + good)
    first, bad, last = read_photos(manifest)
    origin = name_of(manifest).origin("a.jpg")
    assert first == PhotoRecord("line 1", folder / "a.jpg", "The mill", facts, "", url, origin)
    assert isinstance(bad, Rejected)
    assert bad.where == "line 3"
    assert isinstance(last, PhotoRecord)
    assert last.where == "line 4"
    assert count_records(manifest) == 3


@pytest.mark.parametrize(
    "content", [b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01"]
)
def test_binary_manifest_is_one_error(tmp_path: Path, content: bytes) -> None:
    source = tmp_path / "thing"
    source.write_bytes(content * 1000)
    for read in (read_photos, read_pages):
        with pytest.raises(ManifestError, match=r"is not a JSONL file\. Pages can be"):
            list(read(source))


def test_the_digest_changes_with_the_manifest_and_with_its_photos(folder: Path) -> None:
    manifest = folder / "images.jsonl"
    manifest.write_text("{}")
    photo = folder / "a.jpg"
    before = manifest_digest(manifest, [photo])
    assert manifest_digest(manifest, [photo]) == before
    photo.write_bytes(b"another photo of it")
    changed = manifest_digest(manifest, [photo])
    manifest.write_text("{} ")
    assert len({before, changed, manifest_digest(manifest, [photo])}) == 3


def test_passages_have_the_pages_picture_and_it_changes_the_digest(folder: Path) -> None:
    manifest = folder / "pages.jsonl"
    page = {"url": "https://pages.example/a", "text": "It is a lamp. " * 400, "image": "lamp.png"}
    manifest.write_text(json.dumps(page))
    ids = []
    for colour in ("red", "blue"):
        Image.new("RGB", (900, 600), colour).save(folder / "lamp.png")
        [item] = page_items(manifest)
        assert isinstance(item, PageItem)
        assert len(item.chunks) > 1
        sizes = {Image.open(io.BytesIO(chunk.image or b"")).size for chunk in item.chunks}
        assert sizes == {(512, 341)}
        ids.append(item.chunks[0].id)
    assert ids[0] != ids[1]


@pytest.mark.parametrize("image", ["none.jpg", "a.jpg", "empty.jpg", "huge.jpg", "."])
def test_a_page_is_indexed_without_a_picture_that_cannot_be_read(folder: Path, image: str) -> None:
    manifest = folder / "pages.jsonl"
    manifest.write_text(json.dumps({"url": "https://pages.example/a", "text": "A lamp.", "image": image}))
    [item] = page_items(manifest)
    assert isinstance(item, PageItem)
    assert item.chunks[0].image is None
    assert item.remarks[0].startswith("Its image was left out: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
        ("Wed, 01 May 2024 10:00:00 GMT", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("soon", None),
        ("", None),
        ("2024-13-01", None),
        ("2024-05-01T10:00:00+02:00:30", None),
    ],
)
def test_dates_are_read_in_the_web_s_two_forms(text: str, expected: datetime | None) -> None:
    assert moment(text) == expected


@pytest.mark.parametrize(
    "count",
    [
        lambda manifest: sum(span.records for span in manifests.spans(manifest, 1, 1)),
        lambda manifest: len(list(manifests.json_lines(manifest))),
    ],
    ids=["spans", "records"],
)
def test_endless_line_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: Callable[[Path], int]
) -> None:
    monkeypatch.setattr(manifests, "LONGEST_LINE", 2**16)
    manifest = tmp_path / "pages.jsonl"
    with manifest.open("wb") as stream:
        stream.write(b"x" * 4096)
        stream.truncate(32 * 2**20)
    tracemalloc.start()
    try:
        records = count(manifest)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert records == 1
    assert most < 4 * 2**20


def test_image_number_of_several_photos_is_reported(tmp_path: Path) -> None:
    for name in ("Toy_Story_3.jpg", "arch-1.jpg", "arch-2.jpg", "Boeing 747.jpg"):
        (tmp_path / name).write_bytes(b"\xff\xd8\xff")
    remarks = {each.where: each.remark for each in read_photos(tmp_path) if not isinstance(each, Rejected)}
    assert {name for name, remark in remarks.items() if remark} == {"Toy_Story_3.jpg"}
    assert "metadata.jsonl" in remarks["Toy_Story_3.jpg"]
