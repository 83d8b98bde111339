"""The name of a source, which the addresses of its files begin with, and pages that claim one URL."""

import hashlib
import html
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from chassis.vectors.port import Origin
from contracts.documents import MOST_PLACES
from corpus.folders import FolderFile
from corpus.jsonl import ManifestError

LONGEST_NAME = 200
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


def source_name(source: Path, given: str = "", *, in_folder: bool = False) -> SourceName:
    """Return the name that a user gave, or one made from the path. Raises `ManifestError`.

    A folder has its own name, and so has a file that belongs to its folder (`in_folder`). A manifest has its
    folder's name and its own: `museum/photos.jsonl`.
    """
    if given:
        return SourceName(_valid_name(given))
    whole = source.resolve()
    root = whole.parent if in_folder and not source.is_dir() else whole
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
    if not spelled or len(spelled) > LONGEST_NAME or not spelled.isprintable():
        raise ManifestError(f"A source's name has 1 to {LONGEST_NAME} printable characters.")
    return spelled
