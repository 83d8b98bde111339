"""List, show and remove the documents of a collection: all points with one address."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from chassis.errors import NotFound, NotSupported
from chassis.vectors.port import ADDRESS, ORIGIN, SOURCE, CollectionInfo, ScoredPoint, VectorStore, origin_of
from contracts.collections import PREVIOUS
from contracts.documents import Document, DocumentContent, Documents

MOST_DOCUMENTS = 200_000
"""A listing is sorted in memory, about 400 bytes a document."""
_LISTED = (ADDRESS, SOURCE, "entity", "title", "url")


def present(store: VectorStore, name: str, addresses: Sequence[str]) -> list[str]:
    """Return those of the addresses that the collection holds, in their order."""
    if not addresses:
        return []
    points = store.scroll(name, {ADDRESS: addresses}, fields=[ADDRESS])
    found = {origin_of(point.payload).address for point in points}
    return [address for address in addresses if address in found]


def remove(store: VectorStore, name: str, addresses: Sequence[str]) -> list[str]:
    """Delete documents, and return the addresses of those that were there."""
    removed = present(store, name, addresses)
    if removed:
        store.discard(name, ADDRESS, removed)
    return removed


def points_of(store: VectorStore, name: str, address: str) -> list[ScoredPoint]:
    """Return a document's points, a page's in their order. Raises `NotFound`."""
    points = list(store.scroll(name, {ADDRESS: [address]}))
    if not points:
        raise NotFound("The index holds no document with this address.")
    return sorted(points, key=lambda point: int(point.payload.get("position", 0)))


def content(store: VectorStore, name: str, address: str) -> DocumentContent:
    """Return a document as it is searched. Raises `NotFound`."""
    points = points_of(store, name, address)
    first = points[0].payload
    return DocumentContent(
        address=address,
        source=first.get(SOURCE, ""),
        name=_name_of(first),
        title=first.get("title", ""),
        url=first.get("url", ""),
        attributes=first.get("attributes", {}),
        passages=[point.payload["text"] for point in points if "text" in point.payload],
        last_modified=first.get("last_modified"),
    )


def is_used_elsewhere(store: VectorStore, name: str, source: str, origin: str) -> bool:
    """Return whether documents of a source with this name are from another place."""
    elsewhere = store.scroll(name, {SOURCE: [source]}, {ORIGIN: [origin]}, fields=[SOURCE])
    return next(elsewhere, None) is not None


def sources_at(store: VectorStore, name: str, origins: Sequence[str]) -> dict[str, str]:
    """Return the names of the sources at these places, by place."""
    first = {each: next(store.scroll(name, {ORIGIN: [each]}, fields=[SOURCE]), None) for each in origins}
    return {origin: point.payload[SOURCE] for origin, point in first.items() if point is not None}


def _name_of(payload: Mapping[str, Any]) -> str:
    return str(payload.get("entity") or payload.get("title") or origin_of(payload).address)


class Listings:
    """Lists documents. A published version never changes, so that its listing is read once."""

    def __init__(self) -> None:
        self._reading = threading.Lock()
        self._listing: tuple[str, int, Sequence[Document]] = ("", 0, ())

    def page(
        self, store: VectorStore, name: str, source: str, letters: str, offset: int, limit: int
    ) -> Documents:
        """Return documents of `source`, if it is given, with `letters` in name or address, by name.

        Raises `CollectionNotFound`, and `NotSupported` for an index with too many documents.
        """
        version, points, documents = self._whole(store, name)
        folded = letters.casefold()
        matches = [
            each
            for each in documents
            if (not source or each.source == source)
            and (folded in each.name.casefold() or folded in each.address.casefold())
        ]
        return Documents(
            version=version,
            total=len(documents),
            found=len(matches),
            parts=points,
            documents=matches[offset : offset + limit],
        )

    def _whole(self, store: VectorStore, name: str) -> tuple[str, int, Sequence[Document]]:
        version = next((each for each in store.collections() if name in (each.name, *each.aliases)), None)
        with self._reading:
            if version is not None and self._listing[:2] == (version.name, version.points):
                return self._listing
            documents = _read(store, name)
            if version is None:
                return name, len(documents), documents
            whole = (version.name, version.points, documents)
            if is_published(version):
                self._listing = whole
            return whole


def is_published(version: CollectionInfo) -> bool:
    """Return whether readers see the version. One that they saw before may be filled and published again."""
    return any(not alias.endswith(PREVIOUS) for alias in version.aliases)


def _read(store: VectorStore, name: str) -> list[Document]:
    first: dict[str, ScoredPoint] = {}
    parts: Counter[str] = Counter()
    for point in store.scroll(name, fields=_LISTED):
        address = origin_of(point.payload).address
        first.setdefault(address, point)
        parts[address] += 1
        if len(first) > MOST_DOCUMENTS:
            raise NotSupported(
                f"The index holds more than {MOST_DOCUMENTS:,} documents; it cannot be listed."
            )
    documents = (
        Document(
            address=address,
            source=point.payload.get(SOURCE, ""),
            name=_name_of(point.payload),
            url=point.payload.get("url", ""),
            parts=parts[address],
            first=point.id,
        )
        for address, point in first.items()
    )
    return sorted(documents, key=lambda each: (each.name.casefold(), each.address))
