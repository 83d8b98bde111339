"""Pictures of a published index: from a local folder, the cache, or from where they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from chassis.picture_cache import PictureCache

PICTURES_AT_ONCE = 16
"""Pictures that are fetched together; an interrupted import waits for as many."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """Where an index's pictures are: `local`, under the last part of their URL; else in the cache, which may
    `fetch` what it does not hold.
    """

    cache: PictureCache
    local: Path | None = None
    fetch: bool = True


def find_pictures(urls: list[str], pictures: Pictures) -> Mapping[str, Path | str]:
    """Return each picture's file, or a sentence on why there is none. Raises `OSError`."""
    files: dict[str, Path | str] = {}
    for url in urls:
        file = _local(url, pictures.local) or pictures.cache.held(url)
        files[url] = file or "The picture is not here, and nothing is to be fetched."
    if pictures.fetch:
        files.update(pictures.cache.fetch(url for url, file in files.items() if isinstance(file, str)))
    return files


def _local(url: str, folder: Path | None) -> Path | None:
    """The picture under the last part of its URL, as it stands there or decoded."""
    if folder is None:
        return None
    name = urlsplit(url).path.rpartition("/")[2]
    for spelled in dict.fromkeys((name, unquote(name))):
        if spelled in ("", ".", "..") or "/" in spelled or "\0" in spelled:
            continue
        path = folder / spelled
        try:
            if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
                return path
        except OSError:  # no file can have such a name: percent-encoded, it may be too long
            continue
    return None
