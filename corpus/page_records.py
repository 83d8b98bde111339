"""Read pages from a folder, a file or a manifest, one record at a time."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from chassis.vectors.port import Origin
from corpus.folders import FolderFile
from corpus.formats.suffixes import PAGE_FORMATS, TEXT_FORMATS, PageFormat, largest_file
from corpus.jsonl import (
    Rejected,
    Span,
    Unusable,
    check_file,
    is_text,
    json_lines,
    record_fields,
    text_field,
    url_field,
)
from corpus.manifests import PAGE_SUFFIXES, PHOTO_SUFFIXES, files_of, is_page_file, listed, name_of
from corpus.sources import SourceName, with_shared_urls
from corpus.values import moment


@dataclass(frozen=True, slots=True)
class PageRecord:
    """One page before extraction.

    `url` is empty where the page itself must say it; `fallback_url` is used when it does not. `origin`: its
    address as a document; its URL if that is empty. `image`: a picture that the page shows.
    """

    where: str
    content: str | bytes
    format: PageFormat
    url: str = ""
    title: str = ""
    last_modified: datetime | None = None
    fallback_url: str = ""
    origin: Origin | None = None
    image: Path | None = None


def read_pages(
    source: Path, span: Span | None = None, name: SourceName | None = None
) -> Iterator[PageRecord | Rejected]:
    """Pages of a JSONL file, or a `span` of it, of one page file, or of a folder of page files.

    Lines are `{"url", "html" | "text", "title"?, "last_modified"?, "image"?}`; images are files relative to
    the manifest. Raises `ManifestError`.
    """
    name = name or name_of(source)
    if source.is_dir() or is_page_file(source):
        yield from map(page_of_file, page_files(source, name))
    else:
        for where, record in json_lines(source, span):
            try:
                yield _page_record(where, record, name, source.parent)
            except Unusable as reason:
                yield Rejected(where, str(reason))


def read_pictures(manifest: Path) -> Iterator[Path]:
    """The pictures that the pages of a JSONL file show. Raises `ManifestError`."""
    for _, record in json_lines(manifest, holding=b'"image"'):
        with suppress(Unusable):
            if image := text_field(record_fields(record), "image"):
                yield manifest.parent / image


def _page_record(
    where: str, record: Mapping[str, Any] | Rejected, name: SourceName, folder: Path
) -> PageRecord:
    fields = record_fields(record)
    present = [key for key in ("html", "text") if isinstance(fields.get(key), str) and fields[key].strip()]
    if not present:
        raise Unusable('There is neither "html" nor "text".')
    modified = fields.get("last_modified")
    if modified is not None and (not isinstance(modified, str) or moment(modified) is None):
        raise Unusable('"last_modified" is not a date.')
    url = url_field(fields)
    if not url and present[0] == "text":
        raise Unusable('"url" is missing.')
    image = text_field(fields, "image")
    return PageRecord(
        where=where,
        content=fields[present[0]],
        format=PageFormat.HTML if present[0] == "html" else PageFormat.MARKDOWN,
        url=url,
        title=text_field(fields, "title"),
        last_modified=moment(modified) if modified else None,
        origin=name.origin_of_url(url),
        image=folder / image if image else None,
    )


def page_of_file(file: FolderFile) -> PageRecord | Rejected:
    """The page that a file holds."""
    suffix = file.path.suffix.lower()
    try:
        if file.fault:
            raise Unusable(file.fault)
        if suffix in PHOTO_SUFFIXES:
            raise Unusable("This is a photo. Index it with: loreglass index images")
        if suffix not in PAGE_FORMATS:
            raise Unusable(f"Unsupported file type. Pages can be {listed(PAGE_SUFFIXES)}.")
        page_format = PAGE_FORMATS[suffix]
        check_file(file.path, largest_file(page_format), "file")
        content = file.path.read_bytes()
        if not content.strip():
            raise Unusable("The file is empty.")
        if page_format in TEXT_FORMATS and not is_text(content):
            raise Unusable("The file holds something else than text.")
    except Unusable as reason:
        return Rejected(file.name, str(reason))
    except OSError as error:
        return Rejected(file.name, f"The file cannot be read ({error.strerror}).")
    address = file.origin.address if file.origin else ""
    url = address if file.shares_url else ""
    return PageRecord(file.name, content, page_format, url, fallback_url=address, origin=file.origin)


def page_files(source: Path, name: SourceName) -> list[FolderFile]:
    """The files of a folder of pages, or the one page file, with their origins. Blocking.

    Raises `ManifestError`.
    """
    if source.is_dir():
        return with_shared_urls(files_of(source, name))
    return [FolderFile(source, source.name, origin=name.origin(source.name))]
