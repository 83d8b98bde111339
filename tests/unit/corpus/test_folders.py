"""Folders of photos and pages: what is read, its name, and why other files are rejected."""

import errno
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

import pytest

from corpus.folders import thing_in
from corpus.manifests import ManifestError, Rejected
from corpus.pages import PageFormat
from corpus.records import LARGEST_PHOTO, PageRecord, PhotoRecord, count_photos, read_pages, read_photos
from corpus.sources import count_records, manifest_digest


def write(folder: Path, *names: str, content: bytes = b"not looked at here") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def metadata(folder: Path, *lines: object) -> None:
    rows = [each if isinstance(each, str) else json.dumps(each) for each in lines]
    (folder / "metadata.jsonl").write_text("\n".join(rows))


def photos(folder: Path) -> dict[str, PhotoRecord]:
    return {each.where: each for each in read_photos(folder) if isinstance(each, PhotoRecord)}


def reasons(outcomes: Sequence[object]) -> dict[str, str]:
    return {each.where: each.reason for each in outcomes if isinstance(each, Rejected)}


@pytest.mark.parametrize(
    ("name", "thing"),
    [
        ("Eiffel Tower.jpg", "Eiffel Tower"),
        ("eiffel_tower-2.png", "Eiffel Tower"),
        ("Eiffel Tower (12).jpeg", "Eiffel Tower"),
        ("Apollo 11.jpg", "Apollo 11"),
        ("route-66.jpg", "Route 66"),
        ("route_66-02.jpg", "Route 66"),
        ("Saint-Malo.jpg", "Saint-Malo"),
        ("saint-malo.jpg", "Saint Malo"),
        ("l'été  à saint-malo.jpg", "L'été À Saint-malo"),
        ("E\u0301glise.jpg", "Église"),
        ("Dr. No.jpg", "Dr. No"),
        ("IMG_0001.jpg", ""),
        ("IMG-20240501-WA0001.jpg", ""),
        ("DSC00012.JPG", ""),
        ("PXL_20240501_101010123.jpg", ""),
        ("Screenshot 2024-05-01 at 10.10.10.png", ""),
        ("1984.jpg", ""),
        ("paris/eiffel_tower/1.jpg", "Eiffel Tower"),
        ("paris/Louvre.jpg", "Louvre"),
        ("Arch/P1010001.JPG", "Arch"),
        ("Arch/IMG_E0001.HEIC", "Arch"),
        ("Arch/FB_IMG_1714550000000.jpg", "Arch"),
        ("Arch/WhatsApp Image 2024-05-01 at 10.22.33 AM.jpeg", "Arch"),
        ("Arch/3F2504E0-4F89-11D3-9A0C-0305E82C3301.jpg", "Arch"),
        ("Eiffel Tower - Copy (2).jpg", "Eiffel Tower"),
        ("Eiffel_Tower-edited.jpg", "Eiffel Tower"),
        ("Mona Lisa.MP.jpg", "Mona Lisa"),
        ("U-2.jpg", "U-2"),
    ],
)
def test_file_name_gives_the_entity_of_a_photo(name: str, thing: str) -> None:
    assert thing_in(PurePosixPath(name)) == thing


def test_photos_of_a_folder_are_named_by_their_files(tmp_path: Path) -> None:
    write(tmp_path, "eiffel_tower-2.PNG", "bridges/Pont Neuf.webp", ".trash/Louvre.jpg")
    result = photos(tmp_path)
    named = {"eiffel_tower-2.PNG": "Eiffel Tower", "bridges/Pont Neuf.webp": "Pont Neuf"}
    assert {name: each.entity for name, each in result.items()} == named
    assert result["bridges/Pont Neuf.webp"].photo == tmp_path / "bridges" / "Pont Neuf.webp"
    assert count_photos(tmp_path) == 2


def test_metadata_applies_to_photos_of_the_same_thing(tmp_path: Path) -> None:
    write(tmp_path, "eiffel_tower-1.jpg", "eiffel_tower-2.jpg", "eiffel_tower-3.jpg", "x/eiffel_tower-4.jpg")
    line = {"entity": "La tour Eiffel", "attributes": {"built": 1889}, "height": "330 m", "title": "Paris"}
    metadata(
        tmp_path,
        {"file_name": "./eiffel_tower-1.jpg", **line, "url": "https://tower.example"},
        {"file_name": "eiffel_tower-3.jpg", "height": "324 m"},
    )
    first, second, third, elsewhere = (photos(tmp_path)[name] for name in sorted(photos(tmp_path)))
    assert (first.entity, first.title, first.url) == ("La tour Eiffel", "Paris", "https://tower.example")
    assert first.attributes == {"height": "330 m", "built": 1889}
    assert (second.entity, second.attributes) == (first.entity, first.attributes)
    assert (third.entity, third.attributes) == ("Eiffel Tower", {"height": "324 m"})
    assert (elsewhere.entity, elsewhere.attributes) == ("Eiffel Tower", {})


def test_metadata_names_photos_with_camera_numbers(tmp_path: Path) -> None:
    write(tmp_path, "IMG_0001.jpg", "IMG_0002.jpg")
    metadata(tmp_path, {"file_name": "IMG_0001.jpg", "entity": "The mill"})
    outcomes = list(read_photos(tmp_path))
    assert [each.entity for each in outcomes if isinstance(each, PhotoRecord)] == ["The mill"]
    why = "Its name does not say what it shows. Rename it, or add a line to metadata.jsonl."
    assert reasons(outcomes) == {"IMG_0002.jpg": why}


@pytest.mark.parametrize(
    ("line", "where", "reason"),
    [
        ("{", "metadata.jsonl, line 2", "The line is not JSON (column 2)."),
        ({"entity": "A"}, "metadata.jsonl, line 2", '"file_name" is missing.'),
        ({"file_name": "pond.jpg"}, "metadata.jsonl, line 2", "The photo is not there."),
        ({"file_name": "../mill.jpg"}, "metadata.jsonl, line 2", "The photo is not there."),
        ({"file_name": "mill.jpg"}, "metadata.jsonl, line 2", "An earlier line is about the same photo."),
        ({"file_name": "well.jpg", "entity": 7}, "well.jpg", '"entity" is not a text.'),
        (
            {"file_name": "well.jpg", "attributes": "deep", "built": 1820},
            "well.jpg",
            '"attributes" is not an object, and there are further fields.',
        ),
    ],
)
def test_a_bad_line_of_metadata_is_named_with_its_reason(
    tmp_path: Path, line: object, where: str, reason: str
) -> None:
    write(tmp_path, "mill.jpg", "well.jpg")
    metadata(tmp_path, {"file_name": "mill.jpg", "built": "1820"}, line)
    outcomes = list(read_photos(tmp_path))
    assert reasons(outcomes) == {where: reason}
    assert photos(tmp_path)["mill.jpg"].attributes == {"built": "1820"}
    assert count_photos(tmp_path) == len(outcomes)


def test_other_files_are_rejected_with_reason(tmp_path: Path) -> None:
    write(tmp_path, "mill.jpg", "phone.HEIC", "phone.avif", "notes.txt", "film.mov")
    write(tmp_path, "empty.png", content=b"")
    with (tmp_path / "huge.jpg").open("wb") as stream:
        stream.truncate(LARGEST_PHOTO + 1)
    os.mkfifo(tmp_path / "pipe.jpg")
    outcomes = list(read_photos(tmp_path))
    assert reasons(outcomes) == {
        "empty.png": "The photo is empty.",
        "huge.jpg": "The photo is larger than 30 MiB.",
        "notes.txt": "This is a page. Index it with: loreglass index pages",
        "film.mov": (
            "Unsupported file type. Photos can be"
            " .avif, .bmp, .gif, .heic, .heif, .jfif, .jpe, .jpeg, .jpg, .png, .tif, .tiff, .webp."
        ),
        "pipe.jpg": "The photo is not a file.",
    }
    assert set(photos(tmp_path)) == {"mill.jpg", "phone.HEIC", "phone.avif"}


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.jpg", "outside/secret.html", "folder/mill.jpg", "folder/page.html")
    metadata(tmp_path, {"file_name": "mill.jpg", "entity": "Stolen"})
    folder = tmp_path / "folder"
    (folder / "out.jpg").symlink_to(tmp_path / "outside" / "secret.jpg")
    (folder / "out.html").symlink_to("../outside/secret.html")
    (folder / "away").symlink_to(tmp_path / "outside")
    (folder / "round").symlink_to(folder)
    (folder / "in.jpg").symlink_to("mill.jpg")
    (folder / "none.jpg").symlink_to("not there.jpg")
    (folder / "loop.jpg").symlink_to("loop.jpg")
    (folder / "metadata.jsonl").symlink_to(tmp_path / "metadata.jsonl")
    why = reasons(list(read_photos(folder)))
    out = "It is a link that leads out of the folder."
    assert {name: reason for name, reason in why.items() if "link" in reason} == {
        "away": out,
        "loop.jpg": "It is a link that leads nowhere.",
        "metadata.jsonl": out,
        "none.jpg": "It is a link that leads nowhere.",
        "out.html": out,
        "out.jpg": out,
        "round": "It is a link to a folder, which is not followed.",
    }
    assert {each.entity for each in photos(folder).values()} == {"Mill", "In"}
    assert reasons(list(read_pages(folder)))["out.html"] == out


def test_control_characters_in_names_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "mill.jpg", "red\x1b[31m.jpg", "two\nlines.jpg", "bad\ttab/well.jpg")
    (tmp_path / os.fsdecode(b"latin\xe9.jpg")).write_bytes(b"photo")
    outcomes = list(read_photos(tmp_path))
    reason = "Its name holds control characters or is not Unicode; rename it."
    shown = ("red\\x1b[31m.jpg", "two\\nlines.jpg", "bad\\ttab/well.jpg", "latin\\udce9.jpg")
    assert reasons(outcomes) == dict.fromkeys(shown, reason)
    assert list(photos(tmp_path)) == ["mill.jpg"]


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "mill.jpg", "closed/well.jpg")
    scandir = os.scandir

    def guarded(path: str) -> "os._ScandirIterator[str]":
        if Path(path).name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)  # root, as whom tests may run, can list every folder
    outcomes = list(read_photos(tmp_path))
    assert reasons(outcomes) == {"closed": "The folder cannot be read (Permission denied)."}
    assert list(photos(tmp_path)) == ["mill.jpg"]


def test_folder_yields_pages_and_reports_other_files(tmp_path: Path) -> None:
    names = ("b.html", "a.md", "sub/c d.txt", "x.exe", "sub/y.doc", "p.jpg", ".git/z.html")
    write(tmp_path, *names, content=b"words")
    write(tmp_path, "none.htm", content=b" ")
    outcomes = list(read_pages(tmp_path))
    pages = [each for each in outcomes if isinstance(each, PageRecord)]
    assert [each.where for each in pages] == ["a.md", "b.html", "sub/c d.txt"]
    address = f"file:{tmp_path.name}/sub/c%20d.txt"
    assert (pages[-1].fallback_url, pages[-1].format) == (address, PageFormat.TEXT)
    assert reasons(outcomes)["none.htm"] == "The file is empty."
    for name in ("x.exe", "sub/y.doc"):
        assert reasons(outcomes)[name].startswith("Unsupported file type. Pages can be .csv, ")
    assert reasons(outcomes)["p.jpg"] == "This is a photo. Index it with: loreglass index images"
    assert count_records(tmp_path) == len(outcomes) == 7


def test_saved_pages_folder_is_reported_once(tmp_path: Path) -> None:
    write(
        tmp_path, "trip.html", "trip_files/frame.html", "trip_files/a.js", "Plan.htm", "Plan-Dateien/b.html"
    )
    write(tmp_path, "other_files/c.html", content=b"words")
    outcomes = list(read_pages(tmp_path))
    names = [each.where for each in outcomes if isinstance(each, PageRecord)]
    assert names == ["Plan.htm", "trip.html", "other_files/c.html"]
    assert reasons(outcomes) == {
        "Plan-Dateien": "It belongs to the saved page Plan.htm.",
        "trip_files": "It belongs to the saved page trip.html.",
    }


RANDOM = bytes((number * number * 31 + number * 7) % 251 for number in range(2000))


@pytest.mark.parametrize("name", ["page.txt", "page.md", "page.html"])
@pytest.mark.parametrize(
    "content",
    [RANDOM, b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj", b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01", b"words\0"],
)
def test_bytes_that_are_not_text_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    write(tmp_path, name, content=content)
    assert list(read_pages(tmp_path)) == [Rejected(name, "The file holds something else than text.")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "iso-8859-1", "cp1252"])
def test_text_in_common_encodings_is_accepted(tmp_path: Path, encoding: str) -> None:
    write(tmp_path, "page.txt", content="Café Düne kostet\t5 Kronen.\r\n\fIm März.".encode(encoding))
    assert [type(each) for each in read_pages(tmp_path)] == [PageRecord]


@pytest.mark.parametrize("count", [count_photos, count_records])
def test_an_empty_folder_is_one_error(tmp_path: Path, count: Callable[[Path], int]) -> None:
    with pytest.raises(ManifestError, match="There is nothing to index in"):
        count(tmp_path)


def test_digest_changes_with_content_and_names(tmp_path: Path) -> None:
    write(tmp_path, "a/1.jpg")
    before = manifest_digest(tmp_path)
    assert manifest_digest(tmp_path) == before
    metadata(tmp_path, {"file_name": "a/1.jpg"})
    described = manifest_digest(tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")
    assert len({before, described, manifest_digest(tmp_path)}) == 3


def test_single_document_is_treated_as_a_folder(tmp_path: Path) -> None:
    write(tmp_path, "visit.pdf", content=b"%PDF-1.7\n\xe2\xe3\xcf\xd3")
    document = tmp_path / "visit.pdf"
    assert count_records(document) == 1
    [record] = read_pages(document)
    assert isinstance(record, PageRecord)
    assert record.format is PageFormat.PDF
    before = manifest_digest(document)
    document.write_bytes(b"%PDF-1.7 changed")
    assert manifest_digest(document) != before
