"""Uploaded files that wait to be indexed: in a folder, bounded, kept over a restart."""

import os
import re
import shutil
import threading
import unicodedata
import uuid
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from chassis.errors import (
    DependencyUnavailable,
    InvalidRequest,
    PayloadTooLarge,
    UnsupportedMediaType,
)
from chassis.files import sync_folder
from chassis.resilience.room import is_full, storage_full
from corpus.folders import thing_in
from corpus.pages import PAGE_FORMATS, largest_file
from corpus.records import LARGEST_PHOTO
from corpus.sources import METADATA, PAGE_SUFFIXES, PHOTO_SUFFIXES

MOST_FILES = 1_000
MOST_BYTES = 2 * 2**30
_LONGEST_NAME = 200
"""Bytes of UTF-8; file systems end at 255."""
_MOST_FOLDERS = 16
_DRIVE = re.compile("[A-Za-z]:")
"""The drive of a path on the sender's machine: only the file's name is used."""


class Uploads:
    """Photos and pages in a folder each, as `corpus` reads them. Calls block, and are safe from threads."""

    def __init__(self, folder: Path, most_files: int = MOST_FILES, most_bytes: int = MOST_BYTES) -> None:
        self.photos, self.pages = folder / "photos", folder / "pages"
        self._most = most_files, most_bytes
        self._writing = threading.Lock()

    def keep(self, name: str, content: BinaryIO, size: int) -> str:
        """Keep a file of `size` bytes, in place of one that has its name; the name that it is kept by.

        The folders that it comes from stay part of its name. A photo that nothing names is refused, unless a
        `metadata.jsonl` waits in one of them that may. Raises `InvalidRequest`,
        `UnsupportedMediaType`, `PayloadTooLarge`, and `StorageFull` or `DependencyUnavailable` where it
        cannot be kept.
        """
        place, path = self._place(name)
        in_pages = place is self.pages
        largest = largest_file(PAGE_FORMATS[path.suffix.lower()]) if in_pages else LARGEST_PHOTO
        if size > largest:
            raise PayloadTooLarge(f"The file is larger than {largest >> 20} MiB.")
        with self._writing:
            others = [each for each in self._waiting() if each != place / path]
            files, total = len(others) + 1, sum(each.stat().st_size for each in others) + size
            if files > self._most[0] or total > self._most[1]:
                raise PayloadTooLarge(
                    f"At most {self._most[0]:,} files and {self._most[1] >> 20:,} MiB are taken at once;"
                    " index what is here first."
                )
            if (place / path).is_dir() or any((place / up).is_file() for up in path.parents):
                raise InvalidRequest("A file and a folder of the same name cannot both wait. Rename one.")
            fresh = place / f".{uuid.uuid4().hex}"
            try:
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                try:
                    with fresh.open("wb") as stream:
                        shutil.copyfileobj(content, stream, 1 << 20)
                        stream.flush()
                        os.fsync(stream.fileno())
                    fresh.replace(place / path)
                    sync_folder((place / path).parent)
                finally:
                    fresh.unlink(missing_ok=True)
            except OSError as error:
                if is_full(error):
                    raise storage_full() from error
                raise DependencyUnavailable(f"The file cannot be kept ({error.strerror}).") from error
        return path.as_posix()

    def names(self) -> list[str]:
        roots = self.photos, self.pages
        return [each.relative_to(root).as_posix() for root in roots for each in _files(root)]

    def clear(self, *folders: Path) -> None:
        """Delete waiting files, of all folders or of the given ones."""
        with self._writing:
            for folder in folders or (self.photos, self.pages):
                if folder.exists():
                    shutil.rmtree(folder)

    def _waiting(self) -> list[Path]:
        return [*_files(self.photos), *_files(self.pages)]

    def _place(self, name: str) -> tuple[Path, PurePosixPath]:
        """Return the folder of a file, and the name under which it is kept."""
        parts = [each for each in name.replace("\\", "/").split("/") if each]
        if parts and _DRIVE.fullmatch(parts[0]):
            parts = parts[-1:]
        if not parts or len(parts) > _MOST_FOLDERS or any(map(_is_odd, parts)):
            raise InvalidRequest("The file's name is empty, hidden, too long, or holds control characters.")
        path = PurePosixPath(*parts)
        suffix = path.suffix.lower()
        if suffix in PAGE_SUFFIXES:
            return self.pages, path
        if suffix in PHOTO_SUFFIXES:
            if not thing_in(path) and not any((self.photos / up / METADATA).exists() for up in path.parents):
                raise InvalidRequest("Its name does not say what it shows.")
            return self.photos, path
        if path.name == METADATA:
            return self.photos, path
        kinds = ", ".join(sorted(each.removeprefix(".") for each in PHOTO_SUFFIXES | PAGE_SUFFIXES))
        raise UnsupportedMediaType(f"It is neither a photo nor a page; these are: {kinds}.")


def has_files(folder: Path) -> bool:
    """Return whether there is something to index. Blocking."""
    return bool(_files(folder))


def _files(folder: Path) -> list[Path]:
    return sorted(each for each in folder.rglob("*") if each.is_file() and not each.name.startswith("."))


def _is_odd(part: str) -> bool:
    if part.startswith(".") or len(part.encode(errors="replace")) > _LONGEST_NAME:
        return True
    return any(unicodedata.category(each) in ("Cc", "Cs") for each in part)
