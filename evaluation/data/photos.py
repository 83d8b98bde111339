"""Photos of rows as files: embedded ones are written to the cache, linked ones fetched to it."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from chassis.picture_cache import NotAPicture, PictureCache
from evaluation.data.checks import BadRow


class Photos:
    """Where the photos of rows come from: the files themselves, the cache, and the web."""

    def __init__(self, cache: PictureCache) -> None:
        self._cache = cache

    def embedded(self, image: object) -> Path | None:
        """The photo in a row's `image`, bytes or `{bytes}`; None where there is none. Raises `BadRow`."""
        data = image.get("bytes") if isinstance(image, Mapping) else image
        if not data:
            return None
        if not isinstance(data, bytes):
            raise BadRow("malformed_row", "image is not bytes.")
        try:
            return self._cache.keep(data)
        except NotAPicture as reason:
            raise BadRow("unreadable_image", str(reason)) from reason

    def linked(self, urls: Iterable[str]) -> Mapping[str, Path | str]:
        """Every URL's photo, or a sentence on why there is none. Raises `OSError`."""
        from tqdm import tqdm

        wanted = set(urls)
        with tqdm(desc="photos", total=len(wanted), leave=False, disable=None) as bar:
            return self._cache.fetch(wanted, bar.update)
