"""Pictures on disk under the hash of their content: each written once, each fetched once."""

import hashlib
import io
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import anyio
import anyio.to_thread
from PIL import Image, UnidentifiedImageError

from chassis.errors import LoreglassError
from chassis.files import replace_bytes
from chassis.http.fetching import FetchFailed, PublicFetcher
from chassis.images import ImageLimits, upright_rgb

AT_ONCE = 4
"""Pictures that are fetched at the same time: most of them lie with few hosts."""

_SUFFIXES = {"JPEG": ".jpg", "MPO": ".jpg", "PNG": ".png", "WEBP": ".webp"}
_LOOK_SIDE = 64
"""Pixels of the longer side at which a picture is looked at: for a JPEG that is the quicker the smaller."""
_NAME = re.compile(r"[0-9a-f]{64}\.(?:jpg|png|webp)")


class NotAPicture(Exception):
    """The bytes cannot be kept; the message says why, in one sentence."""


def picture_fetcher() -> PublicFetcher:
    """Return the default fetcher of a cache."""
    return PublicFetcher(accept="image/jpeg,image/png,image/webp")


def picture_suffix(data: bytes) -> str:
    """The file name's ending for a JPEG, PNG or WebP that the services will read, too: they decode it by the
    same rules. Blocking. Raises `NotAPicture`.
    """
    bounds = ImageLimits()
    if len(data) > bounds.max_bytes:
        raise NotAPicture(f"The image is larger than {bounds.max_bytes // 2**20} MiB.")
    try:
        with Image.open(io.BytesIO(data), formats=("JPEG", "PNG", "WEBP")) as picture:
            suffix = _SUFFIXES[picture.format or ""]
        upright_rgb(data, bounds, _LOOK_SIDE)
    except LoreglassError as reason:
        raise NotAPicture(reason.detail) from reason
    except UnidentifiedImageError as error:
        raise NotAPicture("It is not a JPEG, PNG or WebP image.") from error
    except Exception as error:
        raise NotAPicture("The image is damaged or incomplete.") from error
    return suffix


class PictureCache:
    """A folder of pictures. Failed fetches are remembered as long as this object lives."""

    def __init__(self, folder: Path, fetcher: PublicFetcher | None = None) -> None:
        """The folder is made when the first picture is kept."""
        self._folder = folder
        self._fetcher = fetcher or picture_fetcher()
        self._failed: dict[str, str] = {}

    def keep(self, data: bytes) -> Path:
        """Return the file with these bytes, written atomically. Raises `NotAPicture` and `OSError`."""
        digest = hashlib.sha256(data).hexdigest()
        for suffix in _SUFFIXES.values():
            path = self._picture(f"{digest}{suffix}")
            if path.is_file():
                return path
        path = self._picture(f"{digest}{picture_suffix(data)}")
        _write(path, data)
        return path

    def keep_as(self, name: str, make: Callable[[], bytes]) -> Path:
        """Return the picture of that name, made on the first call only.

        Raises `NotAPicture`, `OSError` and what `make` raises.
        """
        path = self.cached_path(name)
        if path is None:
            path = self.keep(make())
            _write(self._link(name), path.name.encode("ascii"))
        return path

    def cached_path(self, url: str) -> Path | None:
        """Return the file that was fetched from the URL before, or None."""
        try:
            name = self._link(url).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        if not _NAME.fullmatch(name):
            return None
        path = self._picture(name)
        return path if path.is_file() else None

    def fetch(
        self, urls: Iterable[str], on_done: Callable[[], None] = lambda: None
    ) -> Mapping[str, Path | str]:
        """Return each URL's file, or why there is none. Blocking; `on_done` is called for each.

        Raises `OSError` where a picture cannot be written.
        """
        results: dict[str, Path | str] = {}
        missing: list[str] = []
        for url in dict.fromkeys(urls):
            result = self._failed.get(url) or self.cached_path(url)
            if result is None:
                missing.append(url)
            else:
                results[url] = result
                on_done()
        if missing:
            try:
                anyio.run(self._fetch_all, missing, results, on_done)
            except ExceptionGroup as failures:
                raise failures.exceptions[0] from failures
        return results

    async def _fetch_all(
        self, urls: list[str], results: dict[str, Path | str], on_done: Callable[[], None]
    ) -> None:
        slots = anyio.CapacityLimiter(AT_ONCE)
        keeping = anyio.CapacityLimiter(1)  # one in memory as pixels

        async def fetch_one(url: str) -> None:
            async with slots:
                results[url] = await self._fetch_one(url, keeping)
            on_done()

        async with anyio.create_task_group() as group:
            for url in urls:
                group.start_soon(fetch_one, url)

    async def _fetch_one(self, url: str, keeping: anyio.CapacityLimiter) -> Path | str:
        try:
            data = await self._fetcher.fetch(url)
            path = await anyio.to_thread.run_sync(self.keep, data, limiter=keeping)
        except (FetchFailed, NotAPicture) as reason:
            self._failed[url] = str(reason)
            return str(reason)
        await anyio.to_thread.run_sync(_write, self._link(url), path.name.encode("ascii"))
        return path

    def _picture(self, name: str) -> Path:
        return self._folder / "pictures" / name[:2] / name

    def _link(self, url: str) -> Path:
        digest = hashlib.sha256(url.encode(errors="surrogatepass")).hexdigest()
        return self._folder / "urls" / digest[:2] / digest


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_bytes(path, data)
