"""Sources of photos and pages (JSONL manifests, folders, single files), and the names of their documents."""

import hashlib
import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from chassis.vectors.port import Origin
from contracts.documents import MOST_PLACES
from corpus.folders import FolderFile, files_in
from corpus.manifests import ManifestError, open_manifest, spans
from corpus.manifests import Rejected as Rejected  # one of the records that a source gives
from corpus.pages import PAGE_FORMATS

_COUNTED = 2**40
"""Records and bytes that are counted together: all of a manifest."""
_HEIF_SUFFIXES = {".heic", ".heif", ".avif"}
PHOTO_SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff"} | _HEIF_SUFFIXES
)
METADATA = "metadata.jsonl"
"""The file with facts about the photos of its folder, as in ImageFolder of Hugging Face's datasets."""
PAGE_SUFFIXES = frozenset(PAGE_FORMATS)
_LONGEST_NAME = 200
_LOOKED_AT = 2**16
"""Bytes of a page in which its URL is looked for."""
_LINK = re.compile(rb"<link\b[^>]{0,1000}>", re.IGNORECASE)
_CANONICAL = re.compile(rb"""\brel\s*=\s*["']?\s*canonical\b""", re.IGNORECASE)
_HREF = re.compile(rb"""\bhref\s*=\s*["']?\s*([^"'\s>]+)""", re.IGNORECASE)
_FRONT_MATTER_URL = re.compile(rb"""^url:[ \t]*["']?([^"'\s]+)""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SourceName:
    """`name`: the first part of its files' addresses. `place`: a digest of its path; empty if a user gave it.

    `folder`: in which of its folders what is indexed now lies; empty or with a `/` at the end.

    Documents of one name from two places are never mixed, unless a user has given the name.
    """

    name: str = ""
    place: str = ""
    folder: str = ""

    def origin(self, path: str) -> Origin:
        """Return where a file is from; `path` is relative to what is indexed now."""
        spelled = unicodedata.normalize("NFC", f"{self.name}/{self.folder}{path}")
        return Origin("file:" + quote(spelled, errors="replace"), self.name, self.place)

    def origin_of_url(self, url: str) -> Origin:
        """Return where a page with a URL of its own is from."""
        return Origin(url, self.name, self.place)


def name_of(source: Path, given: str = "") -> SourceName:
    """Return the name that a user gave, or one made from the path. Raises `ManifestError`.

    A folder has its own name, and so has a file that belongs to its folder. A manifest has its folder's name
    and its own: `museum/photos.jsonl`.
    """
    if given:
        return SourceName(_valid_name(given))
    whole = source.resolve()
    root = whole.parent if has_files(source) and not source.is_dir() else whole
    name = root.name if root.is_dir() else f"{root.parent.name}/{root.name}"
    return SourceName(name, _place(root))


def places_around(source: Path) -> dict[str, str]:
    """Return the places of the folder that is indexed (or a file's) and of those around it, innermost first.

    With each the way from it to the first one: empty, or with a `/` at the end.
    """
    whole = source.resolve()
    root = whole if whole.is_dir() else whole.parent
    around = (root, *root.parents)[:MOST_PLACES]
    return {_place(each): "".join(f"{part}/" for part in root.relative_to(each).parts) for each in around}


def with_shared_urls(files: Sequence[FolderFile]) -> list[FolderFile]:
    """Mark the files that claim a URL which another one claims too: it is not their own. Blocking."""
    urls = [_claimed_url(each) for each in files]
    counts = Counter(filter(None, urls))
    return [
        replace(each, shares_url=True) if counts[url] > 1 else each
        for each, url in zip(files, urls, strict=True)
    ]


def _claimed_url(file: FolderFile) -> str:
    """Return the canonical link of an HTML page or the `url` of a Markdown page's front matter, if any."""
    try:
        if file.fault or not file.path.is_file():
            return ""
        with file.path.open("rb") as stream:
            head = stream.read(_LOOKED_AT)
    except OSError:
        return ""
    if head.removeprefix(b"\xef\xbb\xbf").startswith(b"---"):
        claim = _FRONT_MATTER_URL.search(head)
    else:
        link = next((each for each in _LINK.findall(head) if _CANONICAL.search(each)), b"")
        claim = _HREF.search(link)
    return html.unescape(claim[1].decode("utf-8", "replace")) if claim else ""


def _place(folder: Path) -> str:
    return hashlib.sha256(str(folder).encode(errors="replace")).hexdigest()[:16]


def _valid_name(name: str) -> str:
    spelled = unicodedata.normalize("NFC", name.strip().strip("/"))
    if not spelled or len(spelled) > _LONGEST_NAME or not spelled.isprintable():
        raise ManifestError(f"A source's name has 1 to {_LONGEST_NAME} printable characters.")
    return spelled


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
    return ", ".join(sorted(suffixes))
