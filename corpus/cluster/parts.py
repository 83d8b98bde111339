"""A source cut into parts, done one after the other, and these into blocks, an actor's work at once."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from corpus.folders import FolderFile
from corpus.items import PageItem, PhotoItem, prepared_pages, prepared_photos
from corpus.jsonl import ManifestError, Rejected, Span, spans
from corpus.manifests import (
    PhotoRecord,
    files_of,
    is_page_file,
    manifest_digest,
    page_of_file,
    read_pages,
    read_photos,
)

BLOCK_BYTES = 32 * 2**20
"""Of a block's lines, so that what an actor holds is bounded where lines are long."""

MOST_PARTS = 8_000
"""More a version does not remember: so many names are what a service takes at once."""

Block = Span | tuple[FolderFile, ...] | tuple[PhotoRecord | Rejected, ...]
"""Lines of the source or, where it is a folder, some of its files or photos."""
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Part:
    """A job: `records` in `blocks`. Its name is the same whenever the source is cut in the same way."""

    name: str
    blocks: tuple[Block, ...]
    records: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A whole source. `digest`: as `manifest_digest` gives it, so that all engines fill the same version."""

    parts: tuple[Part, ...]
    digest: str

    @property
    def records(self) -> int:
        """All of them."""
        return sum(part.records for part in self.parts)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Records in a part and in a block: what is lost of a part that is cut short is a block."""

    part: int
    block: int


def cut_pages(source: Path, sizes: Sizes) -> Cut:
    """Pages of a JSONL file, a page file or a folder. Reads a JSONL file once. Raises `ManifestError`."""
    if source.is_dir():
        return Cut(
            _cut(map(_of_files, _batched(files_of(source), sizes.block)), sizes), manifest_digest(source)
        )
    if is_page_file(source):
        file = FolderFile(source, source.name)
        return Cut(_cut([((file,), 1)], sizes), manifest_digest(source))
    digest = hashlib.sha256()
    lines = spans(source, sizes.block, BLOCK_BYTES, digest.update)
    return Cut(_cut(((span, span.records) for span in lines), sizes), digest.hexdigest())


def cut_photos(source: Path, sizes: Sizes) -> Cut:
    """Photos of a JSONL file or a folder. Raises `ManifestError`."""
    named = (each.photo for each in read_photos(source) if not isinstance(each, Rejected))
    digest = manifest_digest(source, named)
    if source.is_dir():
        blocks = ((block, len(block)) for block in _batched(read_photos(source), sizes.block))
        return Cut(_cut(blocks, sizes), digest)
    lines = spans(source, sizes.block, BLOCK_BYTES)
    return Cut(_cut(((span, span.records) for span in lines), sizes), digest)


def prepared(alias_is_pages: bool, source: Path, block: Block) -> Iterator[PageItem | PhotoItem | Rejected]:
    """A block's records made ready to send. CPU-bound."""
    span = block if isinstance(block, Span) else None
    files = () if isinstance(block, Span) else block
    if alias_is_pages:
        pages = (page_of_file(each) for each in files if isinstance(each, FolderFile))
        return prepared_pages(read_pages(source, span) if span else pages)
    photos = (each for each in files if not isinstance(each, FolderFile))
    return prepared_photos(read_photos(source, span) if span else photos)


def one_by_one(source: Path, block: Block) -> list[Block]:
    """The same in blocks of one record, to find the one that ends the process which reads it."""
    if isinstance(block, Span):
        return [each for each in spans(source, 1, BLOCK_BYTES, within=block) if each.records]
    return [(each,) for each in block]  # type: ignore[misc]


def where_of(block: Block) -> str:
    """How a block of one record is told of."""
    if isinstance(block, Span):
        return f"line {block.line}"
    [record] = block
    return record.name if isinstance(record, FolderFile) else record.where


def _of_files(files: tuple[FolderFile, ...]) -> tuple[Block, int]:
    return files, len(files)


def _cut(blocks: Iterable[tuple[Block, int]], sizes: Sizes) -> tuple[Part, ...]:
    parts: list[Part] = []
    held: list[Block] = []
    records = 0

    def close() -> None:
        if len(parts) == MOST_PARTS:
            raise ManifestError(
                f"In parts of {sizes.part:,} records there are more than {MOST_PARTS:,}, which a version"
                " cannot remember: give --part-records a larger number."
            )
        name = f"part-{len(parts)}-of-{sizes.part}-by-{sizes.block}"
        parts.append(Part(name, tuple(held), records))

    for block, more in blocks:
        if held and records + more > sizes.part:
            close()
            held, records = [], 0
        held.append(block)
        records += more
    if held:
        close()
    return tuple(parts)


def _batched(values: Sequence[Made] | Iterator[Made], most: int) -> Iterator[tuple[Made, ...]]:
    left = iter(values)
    while batch := tuple(islice(left, most)):
        yield batch
