"""CRAG-MM's published web index (Wang et al. 2025): its vectors, its chunks, and `k` counted in chunks.

The index holds of every chunk only its page's snippet; the chunk itself is cut from the page where the
published store of pages is at hand, by the rule of the index's own builder.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from chassis.json_text import sendable
from chassis.models.cancellation import until_cancelled
from chassis.startup import WrongSettings
from chassis.vectors.chroma import ChromaIndex, Neighbour
from corpus.values import clean_snippet, web_url
from services.text_search.engine import FusedHit, Passage, TextEncoder

COLLECTION = "web_search_embeddings"
CHUNK_WORDS = 512
LARGEST_PAGE = 8 * 2**20
"""Bytes of a page in the store; of a larger one the snippet stands."""
_CHUNK = re.compile(r"(.*)_chunk_(\d{1,9})", re.DOTALL)
_SHARD = re.compile(r"shard_(\d{1,4})\.mdb")
_LONGEST_TITLE = 300


class CragMmTextSearch:
    """Searches the published index. `contents` None: a passage is its page's snippet."""

    def __init__(
        self, index: ChromaIndex, encoder: TextEncoder, contents: "PageContents | None" = None
    ) -> None:
        self._index, self._encoder, self._contents = index, encoder, contents

    def search(
        self,
        queries: Sequence[str],
        k: int,
        collection: str,
        depth: int | None = None,
        photo: bytes | None = None,
    ) -> list[FusedHit]:
        """Return the pages of the `k` (or `depth`) nearest chunks of each query, by their highest cosine.

        There are fewer pages than chunks: pages are told apart after the chunks are counted.
        """
        best: dict[str, Neighbour] = {}
        query_indexes: dict[str, list[int]] = {}
        for place, vector in enumerate(self._encoder.queries(list(map(sendable, queries)))):
            for chunk in self._index.nearest(vector, depth or k):
                url = web_url(_text(chunk, "page_url") or _parts(chunk.id)[0])
                if not url.startswith(("http://", "https://")):
                    continue
                if place not in query_indexes.setdefault(url, []):
                    query_indexes[url].append(place)
                if url not in best or chunk.cosine > best[url].cosine:
                    best[url] = chunk
        ordered = sorted(best.items(), key=lambda each: -each[1].cosine)[:k]
        return [
            FusedHit(self._passage(url, chunk), chunk.cosine, tuple(query_indexes[url]))
            for url, chunk in until_cancelled(ordered)
        ]

    def _passage(self, url: str, chunk: Neighbour) -> Passage:
        key, number = _parts(chunk.id)
        text = self._contents.chunk(_text(chunk, "page_url") or key, number) if self._contents else ""
        return Passage(
            str(uuid.uuid5(uuid.NAMESPACE_URL, chunk.id)),
            url,
            clean_snippet(_text(chunk, "page_name"))[:_LONGEST_TITLE],
            text or clean_snippet(_text(chunk, "page_snippet")),
            number,
        )

    def probe(self) -> None:
        """Encode a query and search for it."""
        self.search(["Who wrote it?"], 1, "")


class PageContents:
    """The published pages: LMDB files `shard_N.mdb`, in which a page is JSON under the SHA-256 of its URL."""

    def __init__(self, folder: Path) -> None:
        """Raises `WrongSettings` if the folder does not hold the shards, or LMDB is not installed."""
        try:
            import lmdb
        except ImportError as error:
            raise WrongSettings('Reading pages needs LMDB: pip install "loreglass[crag-mm]".') from error
        paths = {
            int(match[1]): path for path in folder.glob("*.mdb") if (match := _SHARD.fullmatch(path.name))
        }
        if not paths or set(paths) != set(range(len(paths))):
            raise WrongSettings(f"{folder} does not hold all files shard_0.mdb, shard_1.mdb and so on.")
        self._files = ExitStack()
        self._shards: list[Any] = []
        try:
            for number in range(len(paths)):
                shard = lmdb.open(str(paths[number]), readonly=True, lock=False, subdir=False)
                self._shards.append(self._files.enter_context(shard))
        except lmdb.Error as error:
            self._files.close()
            raise WrongSettings(f"{folder}: a shard cannot be opened ({error}).") from error

    def chunk(self, url: str, number: int) -> str:
        """Return a page's chunk, empty for chunk 0 (name and snippet) and for a page that is not there."""
        if number == 0:
            return ""
        key = hashlib.sha256(url.encode(errors="surrogatepass")).hexdigest()
        with self._shards[int(key, 16) % len(self._shards)].begin(buffers=True) as transaction:
            stored = transaction.get(key.encode(), b"")
            page = bytes(stored) if len(stored) <= LARGEST_PAGE else b""
        return " ".join(page_words(page)[(number - 1) * CHUNK_WORDS : number * CHUNK_WORDS])

    def close(self) -> None:
        """Close the files."""
        self._files.close()


def page_words(page: bytes) -> list[str]:
    """Return the words of a stored page, without scripts and styles; none if it cannot be read."""
    from lxml import etree, html

    try:
        content = json.loads(page)["page_result"]
        tree = html.fromstring(content)
    except (ValueError, KeyError, TypeError, RecursionError, etree.LxmlError):
        return []
    text = " ".join(tree.xpath("//text()[not(parent::script or parent::style)]"))
    return sendable(text).split()


def _parts(key: str) -> tuple[str, int]:
    """`<url>_chunk_7` in its parts; without a number it is chunk 0."""
    match = _CHUNK.fullmatch(key)
    return (match[1], int(match[2])) if match else (key, 0)


def _text(chunk: Neighbour, key: str) -> str:
    value = chunk.metadata.get(key)
    return value if isinstance(value, str) else ""
