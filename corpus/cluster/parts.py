"""A source cut into parts. A part is what one Ray task reads, and what a later run can skip."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from corpus.ingest import PAGES
from corpus.jsonl import Rejected, Span, spans
from corpus.manifests import is_page_file, manifest_digest, name_of
from corpus.page_records import PageRecord, page_files, page_of_file, read_pages, read_pictures
from corpus.photo_records import PhotoRecord, read_photos
from corpus.sources import SourceName

PART_BYTES = 256 * 2**20
"""A part of a JSONL file has at most so many bytes and one line more."""
MOST_PARTS = 4_000
"""A version remembers the names of at most 8,192 parts. Larger sources get larger parts."""

Content = Span | tuple[Any, ...]
"""Lines of a JSONL file of pages, or files (`FolderFile`), or photos (`PhotoRecord | Rejected`)."""


@dataclass(frozen=True, slots=True)
class Part:
    """Neighbouring records of a source. Its name is the same whenever the same source is cut alike."""

    name: str
    content: Content
    records: int


def cut(alias: str, source: Path, size: int, name: SourceName | None = None) -> tuple[list[Part], str]:
    """Return the parts, of `size` records or more, and the digest that the default engine makes.

    Raises `ManifestError`.
    """
    is_file = not source.is_dir() and not (alias == PAGES and is_page_file(source))
    if alias == PAGES and is_file:
        contents: list[Content] = list(spans(source, size, PART_BYTES))
        named = manifest_digest(source, read_pictures(source))
    elif alias == PAGES:
        files = page_files(source, name or name_of(source))
        contents, named = _batched(files, size), manifest_digest(source)
    else:
        photos = list(read_photos(source, name))
        named = manifest_digest(source, (each.photo for each in photos if isinstance(each, PhotoRecord)))
        contents = _batched(photos, size)
    several = -(-len(contents) // MOST_PARTS) or 1
    joined = [_joined(contents[start : start + several]) for start in range(0, len(contents), several)]
    label = f"part-{{}}-of-{len(joined)}-by-{size}".format
    return [Part(label(n), content, count(content)) for n, content in enumerate(joined)], named


def count(content: Content) -> int:
    """Return the number of records."""
    return content.records if isinstance(content, Span) else len(content)


def read(
    alias: str, source: Path, content: Content, name: SourceName | None = None
) -> Iterator[PageRecord | PhotoRecord | Rejected]:
    """Return the records of a part, in order."""
    if isinstance(content, Span):
        return read_pages(source, content, name)
    return map(page_of_file, content) if alias == PAGES else iter(content)


def _joined(contents: Sequence[Content]) -> Content:
    whole = [each for each in contents if isinstance(each, Span)]
    if whole:
        return Span(whole[0].start, whole[-1].end, whole[0].line, sum(each.records for each in whole))
    return tuple(chain.from_iterable(each for each in contents if isinstance(each, tuple)))


def _batched(values: Sequence[Any], size: int) -> list[Content]:
    left = iter(values)
    return list(iter(lambda: tuple(islice(left, size)), ()))
