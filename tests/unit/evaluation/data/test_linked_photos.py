"""Photos that are only given by URL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chassis.http.fetching import PublicFetcher, is_public
from evaluation.data.model import Dataset
from evaluation.data.opening import open_dataset
from tests.unit.chassis.picture_hosts import METADATA, Host, picture, picture_host
from tests.unit.evaluation.data.benchmark import SINGLE_NAMES, Row, columns, row, write_parquet


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with picture_host() as host:
        yield host


def opened(folder: Path, rows: list[Row]) -> Dataset:
    source = write_parquet(folder / "data/validation.parquet", [columns(each) for each in rows], SINGLE_NAMES)
    return open_dataset(
        str(source),
        cache=folder / "cache",
        fetcher=PublicFetcher(is_allowed=lambda each: each == "127.0.0.1" or is_public(each)),
    )


def test_a_missing_photo_is_fetched_once_and_then_held(host: Host, tmp_path: Path) -> None:
    rows = [
        row("a"),
        row("b", image_url=f"{host.url}/olive.jpg"),
        row("c", image_url=f"{host.url}/olive.jpg"),
    ]
    first = opened(tmp_path, rows)
    assert [each.photo.read_bytes() for each in first.conversations[1:]] == [
        picture("olive"),
        picture("olive"),
    ]
    assert opened(tmp_path, rows) == first
    assert host.asked["/olive.jpg"] == 1


def test_a_photo_in_hand_is_not_fetched(host: Host, tmp_path: Path) -> None:
    rows = [row("a", image={"bytes": picture(), "path": None}, image_url=f"{host.url}/lime.jpg")]
    assert opened(tmp_path, rows).conversations[0].photo.read_bytes() == picture()
    assert host.asked["/lime.jpg"] == 0


def test_a_damaged_photo_is_fetched_instead(host: Host, tmp_path: Path) -> None:
    rows = [row("a", image={"bytes": b"junk", "path": None}, image_url=f"{host.url}/cyan.jpg")]
    assert opened(tmp_path, rows).conversations[0].photo.read_bytes() == picture("cyan")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/gone", "404"),
        ("/page", "not a JPEG"),
        (METADATA, "public internet"),
        ("file:///etc/passwd", "absolute http"),
    ],
)
def test_a_photo_that_cannot_be_fetched_is_named(host: Host, tmp_path: Path, path: str, why: str) -> None:
    url = host.url + path if path.startswith("/") else path
    dataset = opened(tmp_path, [row("a"), row("b", image_url=url), row("c", image_url=url)])
    assert dataset.rejections == {"missing_image": 2}
    assert all(why in each.why for each in dataset.rejected)
    assert [each.where for each in dataset.rejected] == [
        "validation.parquet, row 1",
        "validation.parquet, row 2",
    ]
