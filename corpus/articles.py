"""Articles of E-VQA's knowledge base, and of EchoSight's in the same shape: sections and pictures.

The file is one JSON object of gigabytes, from each article's address to its `title`, `section_titles`,
`section_texts` and `image_urls`. It is read in pieces; an article has at most `LARGEST_ARTICLE` characters.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote, unquote, urlsplit

from chassis.picture_cache import PictureCache
from chassis.vectors.port import Origin
from corpus.chunking import Passage, cut_page
from corpus.ingest import Source
from corpus.items import PageItem, PhotoItem, page_item, prepare_photo
from corpus.manifests import ManifestError, Rejected
from corpus.pages import Block, BlockKind, Page
from corpus.records import PhotoRecord
from corpus.values import plain_text, web_url

LARGEST_ARTICLE = 8 * 2**20
_READ_AT_ONCE = 2**20
_MOST_PICTURES = 1000
_LONGEST_TITLE = 300
_SPACE = " \t\r\n"
_PICTURES_AT_ONCE = 16
"""Pictures that are fetched together; an interrupted import waits for as many."""


@dataclass(frozen=True, slots=True)
class Article:
    """`sections`: title and text of each; `pictures`: addresses, each once."""

    url: str
    title: str
    sections: tuple[tuple[str, str], ...]
    pictures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pictures:
    """Where an index's pictures are: `local`, under the last part of their URL; else in the cache, which may
    `fetch` what it does not hold.
    """

    cache: PictureCache
    local: Path | None = None
    fetch: bool = True


def article_pages(file: Path) -> Source[PageItem]:
    """Every article as a page, whose passages each hold text of one section."""
    return Source(
        count=lambda: sum(1 for _ in read_articles(file)),
        digest=partial(_digest, file),
        items=lambda: map(_page_item, read_articles(file)),
    )


def article_pictures(file: Path, pictures: Pictures) -> Source[PhotoItem]:
    """Every picture as a photo of its article's subject, at the article's address."""
    return Source(
        count=lambda: sum(
            1 if isinstance(each, Rejected) else len(each.pictures) for each in read_articles(file)
        ),
        digest=partial(_digest, file),
        items=lambda: map(prepare_photo, _photos(file, pictures)),
    )


def read_articles(file: Path) -> Iterator[Article | Rejected]:
    """Articles in the file's order. Raises `ManifestError` where the file is something else, or damaged."""
    for url, fields in _members(file):
        address, title = _address(url), _title(fields)
        sections = tuple(zip(_texts(fields, "section_titles"), _texts(fields, "section_texts"), strict=False))
        if not address or not title or not any(text.strip() for _, text in sections):
            yield Rejected(f"article {plain_text(url[:200])}", "It has no web address, no title or no text.")
        else:
            pictures = dict.fromkeys(filter(None, map(_address, _texts(fields, "image_urls"))))
            yield Article(address, title, sections, tuple(pictures)[:_MOST_PICTURES])


def _members(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        with file.open(encoding="utf-8-sig", errors="replace") as stream:
            yield from _Members(stream).read()
    except OSError as error:
        raise ManifestError(f"{file} cannot be read ({error.strerror}).") from error
    except _Damaged as reason:
        raise ManifestError(f"{file} is not a knowledge base of articles. {reason}") from reason


class _Damaged(Exception):
    """The fault of the file."""


class _Members:
    """Reads the members of a JSON object whose values are objects, of which few are held at once."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text, self._place = "", 0
        self._decoder = json.JSONDecoder()

    def read(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Raises `_Damaged`."""
        self._expect("{")
        while self._next() != "}":
            key = self._value()
            self._expect(":")
            value = self._value()
            if not isinstance(key, str) or not isinstance(value, dict):
                raise _Damaged("It does not map addresses to articles.")
            yield key, value
            if self._next() != "}":
                self._expect(",")

    def _next(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            while self._place < len(self._text) and self._text[self._place] in _SPACE:
                self._place += 1
            if self._place < len(self._text) or not self._refill():
                return self._text[self._place : self._place + 1]

    def _expect(self, mark: str) -> None:
        if self._next() != mark:
            raise _Damaged(f"{mark!r} is missing.")
        self._place += 1

    def _value(self) -> Any:
        self._next()
        while True:
            try:
                value, self._place = self._decoder.raw_decode(self._text, self._place)
            except RecursionError:
                raise _Damaged("It is nested too deeply.") from None
            except ValueError:
                if len(self._text) - self._place > LARGEST_ARTICLE or not self._refill():
                    raise _Damaged("It is damaged, or an article is too large.") from None
            else:
                return value

    def _refill(self) -> bool:
        """Read as much again as is left, so that a long article is parsed a few times only."""
        rest = self._text[self._place :]
        more = self._stream.read(max(_READ_AT_ONCE, len(rest)))
        self._text, self._place = rest + more, 0
        return bool(more)


def _address(text: str) -> str:
    url = web_url(text)
    return url if url.startswith(("http://", "https://")) else ""


def _title(fields: Mapping[str, Any]) -> str:
    title = fields.get("title")
    return plain_text(title).strip()[:_LONGEST_TITLE] if isinstance(title, str) else ""


def _texts(fields: Mapping[str, Any], key: str) -> list[str]:
    texts = fields.get(key)
    if not isinstance(texts, list):
        return []
    return [plain_text(each) if isinstance(each, str) else "" for each in texts]


def _page_item(article: Article | Rejected) -> PageItem | Rejected:
    if isinstance(article, Rejected):
        return article
    passages = [passage for name, text in article.sections for passage in _passages(article, name, text)]
    texts, sections = [each.text for each in passages], [each.sections for each in passages]
    page = Page(article.url, article.title, ())
    return page_item(f"article {article.url}", page, texts, sections=sections)


def _passages(article: Article, name: str, text: str) -> list[Passage]:
    paragraphs = (Block(BlockKind.PARAGRAPH, (line,)) for line in text.splitlines() if line.strip())
    heading = [Block(BlockKind.HEADING, (name.strip()[:_LONGEST_TITLE],), level=2)] if name.strip() else []
    return cut_page(Page(article.url, article.title, (*heading, *paragraphs)))


def _photos(file: Path, pictures: Pictures) -> Iterator[PhotoRecord | Rejected]:
    """Pictures that are not here are counted for each article: there are millions."""
    for article in read_articles(file):
        if isinstance(article, Rejected):
            yield article
            continue
        where, missing = f"article {article.url}", 0
        for start in range(0, len(article.pictures), _PICTURES_AT_ONCE):
            urls = list(article.pictures[start : start + _PICTURES_AT_ONCE])
            for url, picture in _find_pictures(urls, pictures).items():
                if isinstance(picture, str):
                    missing += 1
                    continue
                origin = Origin(f"{url}#{quote(article.title)[:1000]}")
                yield PhotoRecord(where, picture, article.title, {}, url=article.url, origin=origin)
        if missing:
            yield Rejected(where, f"{missing} of {len(article.pictures)} pictures are not to be had.")


def _find_pictures(urls: list[str], pictures: Pictures) -> Mapping[str, Path | str]:
    """Return each picture's file, or a sentence on why there is none. Raises `OSError`."""
    files: dict[str, Path | str] = {}
    for url in urls:
        file = _local_picture(url, pictures.local) or pictures.cache.cached_path(url)
        files[url] = file or "The picture is not here, and nothing is to be fetched."
    if pictures.fetch:
        files.update(pictures.cache.fetch(url for url, file in files.items() if isinstance(file, str)))
    return files


def _local_picture(url: str, folder: Path | None) -> Path | None:
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


def _digest(file: Path) -> str:
    """Return a hash of the file's size and time of change: hashing gigabytes would take minutes."""
    try:
        status = file.stat()
    except OSError as error:
        raise ManifestError(f"{file} cannot be read ({error.strerror}).") from error
    return hashlib.sha256(f"{status.st_size}\0{status.st_mtime_ns}".encode()).hexdigest()
