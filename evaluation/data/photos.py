"""Photos of rows as files: embedded ones are written to the cache, linked ones fetched to it."""

import hashlib
import io
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from chassis.errors import LoreglassError
from chassis.images import ImageLimits, upright_rgb
from chassis.picture_cache import NotAPicture, PictureCache
from evaluation.data.checks import BadRow
from evaluation.data.progress import counter


class Photos:
    """Where the photos of rows come from: the files themselves, the cache, and the web."""

    def __init__(self, cache: PictureCache) -> None:
        self._cache = cache

    def embedded(self, image: object, size: tuple[int, int] | None = None) -> Path | None:
        """Return the photo in a row's `image`, bytes or `{bytes}`; None if there is none. Raises `BadRow`.

        `size`: width and height to resize it to, whatever its shape; done once for each photo.
        """
        data = image.get("bytes") if isinstance(image, Mapping) else image
        if not data:
            return None
        if not isinstance(data, bytes):
            raise BadRow("malformed_row", "image is not bytes.")
        try:
            if size is None:
                return self._cache.keep(data)
            name = f"{hashlib.sha256(data).hexdigest()} {size}"
            return self._cache.keep_as(name, partial(_resized, data, size))
        except (NotAPicture, LoreglassError) as reason:
            raise BadRow("unreadable_image", str(reason)) from reason

    def linked(self, urls: Iterable[str]) -> Mapping[str, Path | str]:
        """Every URL's photo, or a sentence on why there is none. Raises `OSError`."""
        wanted = set(urls)
        with counter("photos", len(wanted)) as bar:
            return self._cache.fetch(wanted, bar.update)


def _resized(data: bytes, size: tuple[int, int]) -> bytes:
    """Return the upright picture in that size, or the bytes unchanged. Raises `LoreglassError`."""
    picture = upright_rgb(data, ImageLimits(), None)
    if picture.size == size:
        return data
    buffer = io.BytesIO()
    picture.resize(size).save(buffer, "JPEG", quality=95, subsampling=0)
    return buffer.getvalue()
