"""Photos of rows as files: embedded ones are written to the cache, linked ones fetched to it."""

import base64
import binascii
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from chassis.picture_cache import NotAPicture, PictureCache
from evaluation.data.checks import BadRow, photo_inside

OnProgress = Callable[[str, int, int], None]
"""What is being done (`rows`; `images` inside the files; `photos` elsewhere), how much of it is done, of how
many (0: not known).
"""


def unseen(what: str, done: int, total: int) -> None:
    """Shows nothing."""


@contextmanager
def progress_bars() -> Iterator[OnProgress]:
    """A bar on standard error for each kind of work."""
    from tqdm import tqdm

    bars: dict[str, Any] = {}
    with ExitStack() as stack:

        def show(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = stack.enter_context(tqdm(desc=what, unit="", file=sys.stderr, leave=False))
            bars[what].total = total or None
            bars[what].update(done - bars[what].n)

        yield show


_LINKS = ("http://", "https://")
_LONGEST_PATH = 1024


class Photos:
    """Where photos come from: the dataset's folder, the cache, and, where that is allowed, the web."""

    def __init__(self, cache: PictureCache, folder: Path, on_progress: OnProgress, *, fetch: bool) -> None:
        """Without `fetch`, only what was fetched before is there."""
        self._cache = cache
        self._folder = folder
        self._on_progress = on_progress
        self._fetch = fetch

    def embedded(self, image: object) -> Path | None:
        """The photo that a row's `image` is: `{bytes, path}`, bytes, base64 or a path. None where it is none.

        Raises `BadRow`. A URL is no image here: see `link`.
        """
        if isinstance(image, Mapping):
            image = image.get("bytes") or image.get("path")
        if image is None or image == "" or image == b"":
            return None
        if isinstance(image, bytes):
            return self._kept(image)
        if not isinstance(image, str):
            raise BadRow("malformed_row", "image is neither bytes, base64 nor a path.")
        if image.lower().startswith(_LINKS):
            return None
        return self._of_text(image)

    def linked(self, urls: Iterable[str]) -> Mapping[str, Path | str]:
        """Every URL's photo, or a sentence on why there is none. Raises `OSError`."""
        wanted = list(dict.fromkeys(urls))
        if not wanted:
            return {}
        if not self._fetch:
            why = "The photo is only at its image_url, and nothing is to be fetched."
            return {url: self._cache.held(url) or why for url in wanted}
        ticks = self.ticks("photos", len(wanted))
        return self._cache.fetch(wanted, lambda: next(ticks))

    def ticks(self, what: str, total: int) -> Iterator[None]:
        """Each step tells of one more that is done."""
        for done in range(1, total + 1):
            self._on_progress(what, done, total)
            yield

    def _of_text(self, image: str) -> Path:
        if len(image) <= _LONGEST_PATH and _looks_like_a_path(image):
            return photo_inside(self._folder, image)
        try:
            data = base64.b64decode(
                image.partition(",")[2] if image.startswith("data:") else image, validate=True
            )
        except (binascii.Error, ValueError) as error:
            raise BadRow("unreadable_image", "image is neither base64 nor a path.") from error
        return self._kept(data)

    def _kept(self, data: bytes) -> Path:
        try:
            return self._cache.keep(data)
        except NotAPicture as reason:
            raise BadRow("unreadable_image", str(reason)) from reason


def link_of(image: object, image_url: str) -> str:
    """Where a row's photo can be fetched, empty where nowhere."""
    if isinstance(image, Mapping):
        image = image.get("path")
    told = image.strip() if isinstance(image, str) and image.lower().startswith(_LINKS) else ""
    return image_url or told


def _looks_like_a_path(image: str) -> bool:
    """A name ends like a picture's; base64 has no dot."""
    return "." in image
