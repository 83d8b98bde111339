"""Pictures kept under the hash of their content."""

from pathlib import Path

import pytest

from chassis.http.fetching import FetchLimits, PublicFetcher
from chassis.picture_cache import NotAPicture, PictureCache
from tests.unit.chassis.picture_hosts import Host, bomb, picture


def cache(folder: Path) -> PictureCache:
    return PictureCache(folder, PublicFetcher(FetchLimits(seconds=20.0), is_allowed=lambda _: True))


@pytest.mark.parametrize(("form", "suffix"), [("JPEG", ".jpg"), ("PNG", ".png"), ("WEBP", ".webp")])
def test_pictures_are_stored_unchanged_by_hash(tmp_path: Path, form: str, suffix: str) -> None:
    data = picture(form=form)
    path = cache(tmp_path).keep(data)
    assert path.read_bytes() == data
    assert path.suffix == suffix
    assert cache(tmp_path).keep(data) == path
    assert len([each for each in tmp_path.rglob("*") if each.is_file()]) == 1


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not a JPEG"),
        (b"<html>", "not a JPEG"),
        (picture(form="GIF"), "not a JPEG"),
        (bomb(), "megapixels"),
        (picture(form="PNG")[:50], "damaged"),
        (picture(form="JPEG", side=256)[:-40], "damaged"),
        (picture(form="WEBP", side=256)[:-40], "damaged"),
        (picture(side=8), "too small"),
        (b"\xff" * (30 * 2**20 + 1), "larger than 30 MiB"),
    ],
)
def test_invalid_pictures_are_not_stored(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(NotAPicture, match=why):
        cache(tmp_path).keep(data)
    assert not list(tmp_path.iterdir())


def test_pictures_are_fetched_once_across_runs(host: Host, tmp_path: Path) -> None:
    url = f"{host.url}/yellow.jpg"
    for _ in range(2):
        result = cache(tmp_path).fetch([url, url])
        path = result[url]
        assert isinstance(path, Path)
        assert path.read_bytes() == picture("yellow")
    assert host.requests["/yellow.jpg"] == 1


def test_failed_url_is_requested_once_per_run(host: Host, tmp_path: Path) -> None:
    ticks: list[int] = []
    missing_url = f"{host.url}/gone"
    urls = [f"{host.url}/{colour}.png" for colour in ("red", "blue", "green")]
    pictures = cache(tmp_path)
    for _ in range(2):
        result = pictures.fetch([*urls, missing_url], lambda: ticks.append(1))
        assert result[missing_url] == "The host answered with status 404."
        assert all(isinstance(result[each], Path) for each in urls)
    assert len(ticks) == 8
    assert host.requests["/gone"] == 1
    cache(tmp_path).fetch([missing_url])
    assert host.requests["/gone"] == 2


def test_tampered_cache_link_is_ignored(host: Host, tmp_path: Path) -> None:
    url = f"{host.url}/brown.jpg"
    cache(tmp_path).fetch([url])
    (link,) = [each for each in (tmp_path / "urls").rglob("*") if each.is_file()]
    for name in ("../../../../etc/passwd", "0" * 64 + ".jpg", "\x00", "é"):
        link.write_text(name)
        assert cache(tmp_path).cached_path(url) is None
