"""A published index that Chroma wrote: its nearest entries, with Chroma's own graph and vectors."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chassis.startup import WrongSettings

_FILE = "chroma.sqlite3"
_COSINES = {"cosine": 1.0, "ip": 1.0, "l2": 0.5}
"""Of unit vectors the cosine is 1 less the distance times this; Chroma's `l2` is squared."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entry of a collection. `metadata`: as its author wrote it, untrusted."""

    id: str
    cosine: float
    metadata: Mapping[str, Any]


class ChromaIndex:
    """One collection of a folder that Chroma wrote. It is searched only; the calls are thread-safe."""

    def __init__(self, folder: Path, name: str, size: int) -> None:
        """`size`: of the vectors to search by. Raises `WrongSettings` if the folder holds no such index."""
        if not (folder / _FILE).is_file():
            raise WrongSettings(f"{folder} holds no {_FILE}: name a copy of one of CRAG-MM's search indexes.")
        try:
            import chromadb
            from chromadb.errors import ChromaError
        except ImportError as error:
            raise WrongSettings('engine=crag-mm needs Chroma: pip install "loreglass[crag-mm]".') from error
        settings = chromadb.Settings(anonymized_telemetry=False)
        try:
            self._collection = chromadb.PersistentClient(str(folder), settings).get_collection(
                name, embedding_function=None
            )
            space = (self._collection.configuration.get("hnsw") or {}).get("space") or "l2"
            self._scale = _COSINES[space]
            self.nearest(np.full(size, size**-0.5, np.float32), 1)
        except (ChromaError, ValueError, KeyError) as error:
            raise WrongSettings(f"{folder}: the collection {name} cannot be searched ({error}).") from error

    def nearest(self, vector: npt.NDArray[np.floating[Any]], count: int) -> list[Neighbour]:
        """Return the `count` nearest entries to a unit vector, nearest first."""
        reply = self._collection.query(
            query_embeddings=[vector.tolist()], n_results=count, include=["metadatas", "distances"]
        )
        entries = zip(reply["ids"][0], reply["distances"][0], reply["metadatas"][0], strict=True)
        return [
            Neighbour(key, 1.0 - self._scale * distance, metadata or {})
            for key, distance, metadata in entries
        ]
