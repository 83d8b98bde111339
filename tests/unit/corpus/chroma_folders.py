"""Write Chroma folders with a few entries."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

_TABLES = """
CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT NOT NULL, dimension INTEGER, database_id TEXT);
CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT NOT NULL, scope TEXT NOT NULL, collection TEXT);
CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT NOT NULL, embedding_id TEXT NOT NULL,
    seq_id BLOB NOT NULL, UNIQUE (segment_id, embedding_id));
CREATE TABLE embedding_metadata (id INTEGER, key TEXT NOT NULL, string_value TEXT, int_value INTEGER,
    float_value REAL, PRIMARY KEY (id, key));
"""
Entries = Mapping[str, Mapping[str, Any]]


def chroma_folder(folder: Path, collections: Mapping[str, Entries]) -> Path:
    """Each collection's entries by id, with their metadata."""
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as connection, connection:
        connection.executescript(_TABLES)
        for name, entries in collections.items():
            connection.execute("INSERT INTO collections VALUES (?, ?, 4, 'd')", (f"c-{name}", name))
            for scope in ("VECTOR", "METADATA"):
                held = (f"{scope}-{name}", "urn:chroma", scope, f"c-{name}")
                connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?)", held)
            for key, metadata in entries.items():
                _insert(connection, f"METADATA-{name}", key, metadata)
    return folder


def _insert(connection: sqlite3.Connection, segment: str, key: str, metadata: Mapping[str, Any]) -> None:
    row = connection.execute(
        "INSERT INTO embeddings (segment_id, embedding_id, seq_id) VALUES (?, ?, 0)", (segment, key)
    ).lastrowid
    for name, value in metadata.items():
        values = [value if isinstance(value, kind) else None for kind in (str, int, float)]
        connection.execute("INSERT INTO embedding_metadata VALUES (?, ?, ?, ?, ?)", (row, name, *values))


def shown(url: str, **entities: Any) -> dict[str, Any]:
    """The metadata of an entry of the image index."""
    return {"image_url": url, "entities": json.dumps(list(entities)), "info": json.dumps(entities)}


def image_index(folder: Path, entries: Sequence[Mapping[str, Any]]) -> Path:
    """As CRAG-MM's is published: ids count from 0."""
    return chroma_folder(
        folder, {"image_embeddings": {str(place): each for place, each in enumerate(entries)}}
    )


def web_index(folder: Path, pages: Mapping[str, Sequence[str]], title: str = "A page") -> Path:
    """As CRAG-MM's is published: snippets by URL."""
    entries = {
        f"{url}_chunk_{place}": {"page_name": title, "page_snippet": snippet, "page_url": url}
        for url, snippets in pages.items()
        for place, snippet in enumerate(snippets)
    }
    return chroma_folder(folder, {"web_search_embeddings": entries})
