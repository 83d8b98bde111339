"""Chroma's folder on disk, read without Chroma: ids and metadata from its SQLite file, vectors left alone.

The tables have been the same since Chroma 0.4 (its migrations `sysdb` and `metadb`).
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus.jsonl import ManifestError

FILE = "chroma.sqlite3"

LONGEST_VALUE = 16 * 2**20
"""Bytes of one text or of one entry in the file; CRAG-MM's have some thousands."""

Value = str | int | float | bool | None

_TABLES = (
    "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
    " AND name IN ('collections', 'segments', 'embeddings', 'embedding_metadata')"
)
_SEGMENT = (
    "SELECT segments.id FROM segments JOIN collections ON segments.collection = collections.id"
    " WHERE collections.name = ? AND segments.scope = 'METADATA'"
)
_IDS = "SELECT embedding_id FROM embeddings WHERE segment_id = ? ORDER BY embedding_id"
_RECORDS = (
    "SELECT e.embedding_id, m.key, m.string_value, m.int_value, m.float_value"
    " FROM embeddings AS e LEFT JOIN embedding_metadata AS m ON m.id = e.id"
    " WHERE e.segment_id = ? ORDER BY e.embedding_id"
)


@dataclass(frozen=True, slots=True)
class ChromaRecord:
    """One entry of a collection, without its vector."""

    id: str
    metadata: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class ChromaCollection:
    """A collection by its name. Every method raises `ManifestError` where the folder does not hold it."""

    folder: Path
    name: str

    def ids(self) -> Iterator[str]:
        """Of all entries, in the order of `records`, without reading the rest."""
        with closing(self._connect()) as connection:
            yield from (str(row[0]) for row in self._drawn(connection, _IDS))

    def digest(self) -> str:
        """Changes when the file does; by size and time, for reading gigabytes would double the work."""
        try:
            status = self._file.stat()
        except OSError as error:
            raise self._not_there() from error
        state = f"{self.name}\0{status.st_size}\0{status.st_mtime_ns}"
        return hashlib.sha256(state.encode()).hexdigest()

    def records(self) -> Iterator[ChromaRecord]:
        """All entries, by id: so that the passages of one page, `<url>_chunk_<n>`, are together."""
        with closing(self._connect()) as connection:
            held = ""
            metadata: dict[str, Value] = {}
            started = False
            for key_of, key, text, whole, real in self._drawn(connection, _RECORDS):
                if started and key_of != held:
                    yield ChromaRecord(held, metadata)
                    metadata = {}
                started, held = True, key_of
                if key is not None:
                    metadata[key] = next((each for each in (text, whole, real) if each is not None), None)
            if started:
                yield ChromaRecord(held, metadata)

    def _drawn(self, connection: sqlite3.Connection, asked: str) -> Iterator[tuple[Any, ...]]:
        rows = self._rows(connection, asked, self._segment(connection))
        try:
            yield from rows
        except sqlite3.Error as error:
            raise ManifestError(f"{self._file} is damaged ({error}).") from error

    def _segment(self, connection: sqlite3.Connection) -> str:
        (tables,) = self._rows(connection, _TABLES).fetchone()
        if tables != 4:  # a view or a virtual table of such a name would run whatever its author wrote
            raise ManifestError(f"{self._file} is no Chroma database (tables are missing).")
        found = self._rows(connection, _SEGMENT, self.name).fetchone()
        if found is None:
            raise ManifestError(f"{self._file} has no collection {self.name}.")
        return str(found[0])

    def _rows(self, connection: sqlite3.Connection, asked: str, *arguments: str) -> sqlite3.Cursor:
        try:
            return connection.execute(asked, arguments)
        except sqlite3.Error as error:
            raise ManifestError(f"{self._file} is no Chroma database ({error}).") from error

    def _connect(self) -> sqlite3.Connection:
        """Read-only. Records are drawn by whichever thread has time, by one at a time."""
        if not self._file.is_file():
            raise self._not_there()
        try:
            connection = sqlite3.connect(
                f"{self._file.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise ManifestError(f"{self._file} cannot be opened ({error}).") from error
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        connection.text_factory = lambda held: held.decode("utf-8", errors="replace")
        return connection

    @property
    def _file(self) -> Path:
        return self.folder / FILE

    def _not_there(self) -> ManifestError:
        return ManifestError(f"{self.folder} holds no {FILE}: a published index of CRAG-MM does.")
