"""Sources of photos and pages: JSONL manifests, folders and single files."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from corpus.folders import FolderFile, files_in
from corpus.formats.suffixes import PAGE_FORMATS
from corpus.jsonl import ManifestError, open_manifest, spans
from corpus.jsonl import Rejected as Rejected  # one of the records that a source gives
from corpus.sources import SourceName, source_name

_COUNTED = 2**40
"""Records and bytes that are counted together: all of a manifest."""
_HEIF_SUFFIXES = {".heic", ".heif", ".avif"}
PHOTO_SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"} | _HEIF_SUFFIXES
)
METADATA = "metadata.jsonl"
"""The file with facts about the photos of its folder, as in ImageFolder of Hugging Face's datasets."""
PAGE_SUFFIXES = frozenset(PAGE_FORMATS)


def name_of(source: Path, given: str = "") -> SourceName:
    """Return the source's name: the one that is given, or one made from its path. Raises `ManifestError`."""
    return source_name(source, given, in_folder=has_files(source))


def count_records(source: Path) -> int:
    """Count the lines or files. Raises `ManifestError`."""
    if source.is_dir():
        return len(files_of(source))
    if has_files(source):
        return 1
    return sum(span.records for span in spans(source, _COUNTED, _COUNTED))


def manifest_digest(source: Path, pictures: Iterable[Path] = ()) -> str:
    """Return a SHA-256 (hex) that changes with the manifest, a file that it names, or a file of the folder.

    Files are compared by name, size and time of change: reading them once more would double the work.
    Raises `ManifestError`.
    """
    digest = hashlib.sha256()
    named: Iterable[tuple[str, Path]]
    if source.is_dir():
        named = [(each.name, each.path) for each in files_of(source)]
    elif has_files(source):
        named = [(path.name, path) for path in (require_existing(source), source.with_name(METADATA))]
    else:
        with open_manifest(source) as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
        named = ((path.name, path) for path in pictures)
    for name, path in named:
        try:
            status = path.stat()
        except (OSError, ValueError):  # no name of a file: with a NUL, for example
            continue
        digest.update(f"\n{name}\0{status.st_size}\0{status.st_mtime_ns}".encode(errors="replace"))
    return digest.hexdigest()


def is_page_file(source: Path) -> bool:
    """Return whether the source is one page, and not a JSONL file."""
    return source.suffix.lower() in PAGE_SUFFIXES


def is_photo_file(source: Path) -> bool:
    """Return whether the source is one photo, and not a JSONL file."""
    return source.suffix.lower() in PHOTO_SUFFIXES


def has_files(source: Path) -> bool:
    """Return whether the source is a folder or one file of it, and not a JSONL file."""
    return source.is_dir() or is_page_file(source) or is_photo_file(source)


def files_of(folder: Path, name: SourceName | None = None) -> list[FolderFile]:
    """Return every file of a folder, in order; with a `name` each has its origin.

    Raises `ManifestError` if there is none.
    """
    files = list(files_in(folder))
    if not files:
        raise ManifestError(f"There is nothing to index in {folder}.")
    return with_origins(files, folder, name) if name is not None else files


def with_origins(files: Iterable[FolderFile], folder: Path, name: SourceName) -> list[FolderFile]:
    """Give each file its address below the source's name."""
    return [replace(each, origin=name.origin(each.path.relative_to(folder).as_posix())) for each in files]


def require_existing(source: Path) -> Path:
    """Return the path. Raises `ManifestError` if there is nothing."""
    if not source.exists():
        raise ManifestError(f"{source} does not exist. Check the path.")
    return source


def listed(suffixes: frozenset[str]) -> str:
    """Return the suffixes as a message has them."""
    return ", ".join(sorted(suffixes))
