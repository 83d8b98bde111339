"""Rules that all stores share: names and schemas of collections, and how an index is built."""

import re
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from chassis.errors import CollectionConflict, CollectionNotFound, InvalidRequest
from chassis.vectors.port import CollectionSchema
from contracts.collections import COLLECTION_NAME

# HNSW (Malkov and Yashunin, 2018) over vectors of one byte a number. The nearest by those are taken
# OVERSAMPLING times over and scored again by the whole vectors, which stay on the disk: scores are cosines,
# and a quarter of the memory is enough. A version too small for an index is searched exactly. docs/scale.md
# has the measurements.
LINKS, BUILD_BREADTH, SEARCH_BREADTH = 16, 128, 256
"""HNSW's m, and the candidates kept while a node is linked and while a query is answered (ef)."""
OVERSAMPLING = 2.0
QUANTILE = 0.99
"""Numbers beyond it are cut, so that a few large ones do not coarsen the bytes of all others."""
BUILD_WAIT_S = 300.0
"""A publication waits so long for its index, and then asks to be called again."""
STILL_BUILT = "The index of the version is still being built: publish it again."


class Building:
    """Builds in one thread. A call for a version that is already being built waits for that build."""

    def __init__(self, wait_s: float = BUILD_WAIT_S) -> None:
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[None]] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="building")

    def wait_for(self, name: str, work: Callable[[], None]) -> bool:
        """Return true once `work` is done, false if it goes on. Raises the errors of `work`."""
        with self._lock:
            future = self._under_way.get(name)
            if future is None or future.done():
                future = self._under_way[name] = self._thread.submit(work)
        try:
            future.result(self._wait_s)
        except TimeoutError:
            return False
        return True

    def is_under_way(self, name: str) -> bool:
        """Return true while work on the version waits or goes on."""
        with self._lock:
            future = self._under_way.get(name)
            return future is not None and not future.done()

    def close(self) -> None:
        """Wait for the work that has begun."""
        self._thread.shutdown(cancel_futures=True)


def require_schema(actual: CollectionSchema, schema: CollectionSchema, *, whole: bool = True) -> None:
    """Refuse a collection that another engine or another model has made. Raises `CollectionConflict`.

    Not `whole`: the collection may hold other vectors as well.
    """
    if actual == schema or (not whole and _holds(actual, schema)):
        return
    if replace(actual, keywords=schema.keywords) == schema:
        raise CollectionConflict(
            "The index was made by an earlier release of Loreglass. Index everything again with --replace."
        )
    if actual.encoder == schema.encoder:
        raise CollectionConflict("The collection was made for another engine; index it anew.")
    raise CollectionConflict(
        f"The collection was made with {actual.encoder or 'no model'}, this service runs"
        f" {schema.encoder or 'without a model'}; index it anew."
    )


def _holds(actual: CollectionSchema, schema: CollectionSchema) -> bool:
    same_model = actual.encoder == schema.encoder or not schema.dense
    return (
        same_model
        and schema.dense.items() <= actual.dense.items()
        and set(schema.sparse) <= set(actual.sparse)
    )


def is_collection_name(name: str) -> bool:
    """Return whether a collection could have this name."""
    return re.fullmatch(COLLECTION_NAME, name) is not None


def require_collection_name(name: str) -> None:
    """Check the name of a new collection. Raises `InvalidRequest`."""
    if not is_collection_name(name):
        raise InvalidRequest("A collection's name is a-z, 0-9, _ and -, at most 63 characters.")


def not_found(name: str) -> CollectionNotFound:
    """Return the error for a missing collection. An invalid name is not repeated to the caller."""
    return CollectionNotFound(
        f"There is no collection {name!r}." if is_collection_name(name) else "There is no such collection."
    )


def is_point_id(value: str) -> bool:
    """Return whether this is a UUID in canonical form (32 lower-case hex digits with four hyphens)."""
    try:
        return str(uuid.UUID(value)) == value
    except ValueError:
        return False
