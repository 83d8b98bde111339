"""CRAG-MM's files in both schema versions, and every kind of bad row."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from chassis.http.fetching import PublicFetcher, is_public
from evaluation.data.crag_mm import parse_row
from evaluation.data.model import Dataset, DatasetError, Part
from evaluation.data.opening import open_dataset
from evaluation.data.rows import BadRow
from evaluation.data.tables import Labels
from tests.unit.chassis.picture_hosts import Host, bomb, picture, picture_host
from tests.unit.chassis.pictures import encoded
from tests.unit.evaluation.data.benchmark import (
    MULTI_NAMES,
    SINGLE_NAMES,
    Row,
    answer,
    columns,
    row,
    turn,
    write_parquet,
)

LINK = "https://photos.example/a.jpg"
WORDS: dict[str, Any] = {
    "domain": "book",
    "query_category": "simple-recognition",
    "dynamism": "static",
    "image_quality": "normal",
}


def opened(source: Path, **options: Any) -> Dataset:
    return open_dataset(str(source), cache=source.parent / "cache", **options)


def of_rows(folder: Path, *rows: Row, **options: Any) -> Dataset:
    path = folder / "data/validation.parquet"
    return opened(write_parquet(path, [columns(each) for each in rows], SINGLE_NAMES), **options)


def labels(dataset: Dataset) -> list[tuple[str, str, str, str]]:
    turns = [turn for each in dataset.conversations for turn in each.turns]
    return [(each.domain, each.query_category, each.dynamism, each.image_quality) for each in turns]


def test_label_codes_follow_the_datasets_features(tmp_path: Path) -> None:
    data = tmp_path / "data"
    write_parquet(data / "crag-mm-single-turn-public/validation.parquet", [columns(row("a"))], SINGLE_NAMES)
    turns = (turn("b.0"), turn("b.1", "and when?"))
    write_parquet(
        data / "crag-mm-multi-turn-public/validation.parquet", [columns(row("b", *turns))], MULTI_NAMES
    )
    assert labels(opened(data, part=Part.SINGLE)) == [
        ("book", "simple-recognition", "real-time", "low light")
    ]
    assert labels(opened(data, part=Part.MULTI)) == [("food", "multi-hop", "static", "normal")] * 2


def test_rows_of_both_schema_versions_become_the_same(tmp_path: Path) -> None:
    rows = [row("a"), row("b", turn("b.0"), turn("b.1"))]
    new = write_parquet(tmp_path / "new/validation.parquet", [columns(each) for each in rows], SINGLE_NAMES)
    old = write_parquet(tmp_path / "old/validation.parquet", rows, SINGLE_NAMES)
    first, second = opened(new.parent), opened(old.parent)
    assert [each.turns for each in first.conversations] == [each.turns for each in second.conversations]
    assert first.fingerprint == second.fingerprint
    assert first.conversations[0].turns[0].gold == "Mira Holm wrote it."
    rows = (row("a", turn("a.0")), row("a", turn("a.0", "and when?")))
    fingerprints = [of_rows(tmp_path / f"{place}", each).fingerprint for place, each in enumerate(rows)]
    assert fingerprints[0] != fingerprints[1]


def test_label_words_are_normalised() -> None:
    spelled = {**WORDS, "image_quality": "Low-Light", "domain": "plants_and_gardening"}
    _, (question,) = parse_row(row("b", turn("b.0", **spelled)), Labels())
    assert (question.domain, question.image_quality) == ("plants and gardening", "low light")


ONE = turn("x.0", **WORDS)


def _uneven() -> Row:
    bad = columns(row("x", ONE, turn("x.1", **WORDS)))
    bad["turns"]["query"].pop()
    return bad


BAD: list[tuple[str, Any]] = [
    ("malformed_row", {**row("x"), "session_id": 7}),
    ("malformed_row", _uneven()),
    ("malformed_row", {**row("x"), "turns": []}),
    ("malformed_row", {**row("x"), "turns": "who wrote this?"}),
    ("malformed_row", {**row("x"), "turns": {"query": "who wrote this?"}}),
    ("malformed_row", row("\x1b[31mx", ONE)),
    ("malformed_row", row("x" * 10_000, ONE)),
    ("malformed_row", row("x", turn("x.0", "why? " * 200_000, **WORDS))),
    ("malformed_row", row("x", turn("x.0", "a lone \ud800", **WORDS))),
    ("malformed_row", row("x", *[turn(f"x.{place}", **WORDS) for place in range(101)])),
    ("empty_question", row("x", turn("x.0", " \n", **WORDS))),
    ("empty_answer", row("x", ONE, answers=[answer("x.0", "")])),
    ("unmatched_answers", row("x", ONE, answers=[answer("y.0")])),
    ("unmatched_answers", row("x", ONE, answers=[answer("x.0"), answer("y.0")])),
    ("repeated_interaction", row("x", ONE, ONE, answers=[answer("x.0")])),
    ("repeated_interaction", row("x", ONE, answers=[answer("x.0")] * 2)),
    ("unknown_label", row("x", turn("x.0", **{**WORDS, "domain": "cookery"}))),
    ("unknown_label", row("x", turn("x.0", **{**WORDS, "domain": 3}))),
    ("unknown_label", row("x", turn("x.0", **{**WORDS, "domain": True}))),
]


@pytest.mark.parametrize(("kind", "bad"), BAD)
def test_a_bad_row_is_refused_in_a_sentence(kind: str, bad: Row) -> None:
    with pytest.raises(BadRow) as fault:
        parse_row(bad, Labels())
    assert fault.value.kind == kind
    assert len(fault.value.why) < 400


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        ("repeated_session", row("good", turn("x.0"))),
        ("missing_image", row("x", image={"bytes": None, "path": "nowhere.jpg"})),
        ("unreadable_image", row("x", image={"bytes": b"no picture", "path": None})),
        ("unreadable_image", row("x", image={"bytes": bomb(), "path": None})),
    ],
)
def test_unusable_row_is_counted_and_reported(tmp_path: Path, kind: str, bad: Row) -> None:
    dataset = of_rows(tmp_path, row("good", turn("g")), bad)
    assert [each.session_id for each in dataset.conversations] == ["good"]
    assert dataset.rejections == {kind: 1}
    assert dataset.rejected[0].where == "validation.parquet, row 1"


def test_unknown_label_code_is_reported(tmp_path: Path) -> None:
    rows = [row(f"{code}", turn(f"{code}.0", domain=code)) for code in (3, -1)]
    with pytest.raises(DatasetError, match=r"2 unknown_label.*row 0: domain has no code 3"):
        of_rows(tmp_path, *rows)


def test_unreadable_file_is_one_rejection(tmp_path: Path) -> None:
    data = tmp_path / "data"
    write_parquet(data / "validation-00001-of-00002.parquet", [columns(row("a"))], SINGLE_NAMES)
    (data / "validation-00000-of-00002.parquet").write_bytes(b"PAR1 and then nothing")
    dataset = opened(data)
    assert dataset.rejections == {"unreadable_file": 1}
    assert len(dataset.conversations) == 1


def test_split_is_chosen_by_name(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for split in ("validation", "public_test"):
        write_parquet(data / f"{split}-00000-of-00001.parquet", [columns(row(split))], SINGLE_NAMES)
    assert opened(data, split="public_test").conversations[0].session_id == "public_test"
    assert opened(data).name == "data/validation"
    with pytest.raises(DatasetError, match="no split 'train'; it has public_test, validation"):
        opened(data, split="train")


def test_only_chosen_photos_are_extracted(tmp_path: Path) -> None:
    colours = ("red", "blue", "green", "pink", "black", "white", "gray", "gold")
    rows = [row(each, image={"bytes": picture(each), "path": None}, image_url=LINK) for each in colours]
    first = of_rows(tmp_path, *rows, limit=2)
    assert [each.session_id for each in first.conversations] == ["red", "blue"]
    assert len(list((tmp_path / "data/cache").rglob("*.jpg"))) == 2
    for each in of_rows(tmp_path, *rows, limit=3, seed=5).conversations:
        assert each.photo
        assert each.photo.read_bytes() == picture(each.session_id)


def test_photos_without_a_url_are_egocentric_and_resized_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked = row("b", image={"bytes": picture(), "path": None}, image_url=LINK)
    sizes = {}
    for each in of_rows(tmp_path, row("a"), linked).conversations:
        assert each.photo is not None
        with Image.open(each.photo) as photo:
            sizes[each.turns[0].image_kind] = photo.size
    assert sizes == {"egocentric": (960, 1280), "normal": (32, 32)}
    monkeypatch.delattr(Image.Image, "resize")
    assert of_rows(tmp_path, row("a")).rejected == ()


def test_a_photo_of_the_right_size_is_kept_byte_for_byte(tmp_path: Path) -> None:
    photo = encoded(Image.new("RGB", (960, 1280), "teal"), "JPEG", quality=40)
    sized = row("a", image={"bytes": photo, "path": None}, image_url="")
    (question,) = of_rows(tmp_path, sized).conversations
    assert question.photo is not None
    assert question.photo.read_bytes() == photo


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with picture_host() as host:
        yield host


def fetched(folder: Path, rows: list[Row]) -> Dataset:
    fetcher = PublicFetcher(is_allowed=lambda each: each == "127.0.0.1" or is_public(each))
    return of_rows(folder, *rows, fetcher=fetcher)


def test_missing_or_damaged_photo_is_downloaded(host: Host, tmp_path: Path) -> None:
    rows = [
        row("a", image_url=f"{host.url}/olive.jpg"),
        row("b", image={"bytes": b"junk", "path": None}, image_url=f"{host.url}/cyan.jpg"),
        row("c", image={"bytes": picture(), "path": None}, image_url=f"{host.url}/lime.jpg"),
    ]
    photos = [each.photo.read_bytes() for each in fetched(tmp_path, rows).conversations]
    assert photos == [picture("olive"), picture("cyan"), picture()]
    assert host.requests["/lime.jpg"] == 0


def test_failed_photo_download_is_reported_with_each_row(host: Host, tmp_path: Path) -> None:
    url = f"{host.url}/gone"
    dataset = fetched(tmp_path, [row("a"), row("b", image_url=url), row("c", image_url=url)])
    assert [(each.kind, each.where) for each in dataset.rejected] == [
        ("missing_image", "validation.parquet, row 1"),
        ("missing_image", "validation.parquet, row 2"),
    ]
    assert all("404" in each.why for each in dataset.rejected)
