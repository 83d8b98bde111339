"""CRAG-MM's web index to pages: the passages of one page put together again."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from corpus.attributes import clean_snippet, plain_text
from corpus.chunking import chunk_page
from corpus.crag_mm.chroma import ChromaCollection, ChromaRecord
from corpus.ingest import Source
from corpus.items import PageItem, page_item
from corpus.jsonl import Rejected
from corpus.pages import Block, BlockKind, Page
from corpus.values import web_url

COLLECTION = "web_search_embeddings"
_CHUNK = re.compile(r"(.*)_chunk_(\d{1,9})", re.DOTALL)
_LONGEST_TITLE = 300


def split_chunk(index: str) -> tuple[str, int | None]:
    """`<url>_chunk_7` in its parts; without a number the index is the URL."""
    match = _CHUNK.fullmatch(index)
    return (match[1], int(match[2])) if match else (index, None)


@dataclass(frozen=True, slots=True)
class _Passage:
    number: int
    url: str
    title: str
    snippet: str


def page_source(folder: Path) -> Source[PageItem]:
    """Every page of the index. Its passages are the distinct snippets in the order of the page, longer ones
    cut as ours are. The published vectors are not used.
    """
    collection = ChromaCollection(folder, COLLECTION)
    return Source(
        count=lambda: sum(1 for _ in groupby(collection.ids(), key=_page_of)),
        digest=collection.digest,
        items=lambda: _items(collection),
    )


def _pages(collection: ChromaCollection) -> Iterator[tuple[str, list[ChromaRecord]]]:
    for key, records in groupby(collection.records(), key=lambda record: _page_of(record.id)):
        yield key, list(records)


def _page_of(index: str) -> str:
    return split_chunk(index)[0]


def _items(collection: ChromaCollection) -> Iterator[PageItem | Rejected]:
    seen: set[str] = set()
    for key, records in _pages(collection):
        where = f"page {plain_text(key[:200])}"
        passages = sorted(filter(None, map(_passage, records)), key=lambda passage: passage.number)
        if not passages:
            yield Rejected(where, "There is no web address, or no text.")
        elif passages[0].url in seen:
            yield Rejected(where, "This URL came before.")
        else:
            seen.add(passages[0].url)
            yield _item(where, passages)


def _item(where: str, passages: Sequence[_Passage]) -> PageItem:
    title = next((each.title for each in passages if each.title), "")
    page = Page(passages[0].url, title, ())
    texts: list[str] = []
    for snippet in dict.fromkeys(each.snippet for each in passages):
        block = Block(BlockKind.PARAGRAPH, (snippet,))
        texts += chunk_page(Page(page.url, title, (block,)))
    return page_item(where, page, texts)


def _passage(record: ChromaRecord) -> _Passage | None:
    """None where there is nothing to index."""
    key, number = split_chunk(record.id)
    address = web_url(_text(record, "page_url") or key)
    title = clean_snippet(_text(record, "page_name"))[:_LONGEST_TITLE]
    snippet = clean_snippet(_text(record, "page_snippet"))
    if not snippet or not address.startswith(("http://", "https://")):
        return None
    return _Passage(number or 0, address, title, snippet)


def _text(record: ChromaRecord, key: str) -> str:
    held = record.metadata.get(key)
    return held if isinstance(held, str) else ""
