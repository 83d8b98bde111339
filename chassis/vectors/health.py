"""Readiness of a service with vectors: the engine works, and what its store's operator should know."""

from typing import Protocol

from chassis.http.health import Note
from chassis.vectors.port import VectorStore


class _Probed(Protocol):
    @property
    def store(self) -> VectorStore: ...

    def probe(self) -> None: ...


def probed(engine: _Probed) -> Note | None:
    """Do a little of the real work, or raise; a note where something is not as it should be."""
    engine.probe()
    notes = engine.store.notes()
    return Note(" ".join(notes)) if notes else None
