"""Photos that are only given by URL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chassis.http.fetching import PublicFetcher, is_public
from evaluation.data.model import Dataset
from evaluation.data.opening import open_dataset
from tests.unit.chassis.picture_hosts import Host, picture, picture_host
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


def test_a_photo_that_is_not_in_hand_or_damaged_is_fetched(host: Host, tmp_path: Path) -> None:
    rows = [
        row("a", image_url=f"{host.url}/olive.jpg"),
        row("b", image={"bytes": b"junk", "path": None}, image_url=f"{host.url}/cyan.jpg"),
        row("c", image={"bytes": picture(), "path": None}, image_url=f"{host.url}/lime.jpg"),
    ]
    photos = [each.photo.read_bytes() for each in opened(tmp_path, rows).conversations]
    assert photos == [picture("olive"), picture("cyan"), picture()]
    assert host.asked["/lime.jpg"] == 0


def test_a_photo_that_cannot_be_fetched_is_named_with_each_row(host: Host, tmp_path: Path) -> None:
    url = f"{host.url}/gone"
    dataset = opened(tmp_path, [row("a"), row("b", image_url=url), row("c", image_url=url)])
    assert [(each.kind, each.where) for each in dataset.rejected] == [
        ("missing_image", "validation.parquet, row 1"),
        ("missing_image", "validation.parquet, row 2"),
    ]
    assert all("404" in each.why for each in dataset.rejected)
