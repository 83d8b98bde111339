"""The names in the published index: things with their photos, pages with their passages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread

from chassis.errors import CollectionNotFound
from chassis.vectors import documents
from chassis.vectors.port import VectorStore, origin_of


@dataclass(slots=True)
class Entry:
    """A thing or a page. `points`: its photos or passages; `first`: the id of one of them.

    `addresses`: of its documents, which are photos or the page.
    """

    name: str
    url: str
    first: str
    points: int = 0
    addresses: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Listing:
    """Every entry of a version, by name; empty where nothing is published. `points`: of all of them."""

    version: str = ""
    points: int = 0
    entries: tuple[Entry, ...] = ()


class Contents:
    """Lists what readers of `alias` see. The whole version is read once, and again only when it has changed.

    `entry_of`: what a point's payload is a part of, as key, name and address.
    """

    def __init__(
        self,
        store: Callable[[], VectorStore],
        alias: str,
        entry_of: Callable[[Mapping[str, Any]], tuple[str, str, str]],
    ) -> None:
        self._store = store
        self._alias = alias
        self._entry_of = entry_of
        self._reading = anyio.Lock()
        self._listing = Listing()

    async def listing(self) -> Listing:
        """Return the listing as it is now; one call reads, others wait for it."""
        async with self._reading:
            self._listing = await anyio.to_thread.run_sync(self._read)
            return self._listing

    async def held(self, addresses: Sequence[str]) -> set[str]:
        return await anyio.to_thread.run_sync(self._held, addresses)

    def _held(self, addresses: Sequence[str]) -> set[str]:
        try:
            return set(documents.present(self._store(), self._alias, addresses))
        except CollectionNotFound:
            return set()

    def _read(self) -> Listing:
        store, latest = self._store(), self._listing
        live = next((each for each in store.collections() if self._alias in each.aliases), None)
        if live is None:
            return Listing()
        if (live.name, live.points) == (latest.version, latest.points):
            return latest
        entries: dict[str, Entry] = {}
        for point in store.scroll(live.name):
            key, name, url = self._entry_of(point.payload)
            entry = entries.setdefault(key, Entry(name, url, point.id))
            entry.points += 1
            entry.addresses.add(origin_of(point.payload).address)
        ordered = sorted(entries.values(), key=lambda entry: (entry.name.casefold(), entry.url))
        return Listing(live.name, live.points, tuple(ordered))


def thing_of(payload: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return key, name and URL of a photo's thing."""
    return payload["entity"], payload["entity"], payload["url"]


def page_of(payload: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return key, name and URL of a passage's page."""
    return origin_of(payload).address, payload["title"] or payload["url"], payload["url"]
