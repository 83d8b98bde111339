"""Photos of rows as files: embedded ones are written to the cache, linked ones fetched to it."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from chassis.picture_cache import NotAPicture, PictureCache
from evaluation.data.checks import BadRow

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


class Photos:
    """Where the photos of rows come from: the files themselves, the cache, and the web."""

    def __init__(self, cache: PictureCache, on_progress: OnProgress) -> None:
        self._cache = cache
        self.on_progress = on_progress

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
        wanted = list(dict.fromkeys(urls))
        ticks = self.ticks("photos", len(wanted))
        return self._cache.fetch(wanted, lambda: next(ticks)) if wanted else {}

    def ticks(self, what: str, total: int) -> Iterator[None]:
        """Each step tells of one more that is done."""
        for done in range(1, total + 1):
            self.on_progress(what, done, total)
            yield
