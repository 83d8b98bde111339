"""Bounded stores of bytes under keys: the port `Store`, and its version in memory.

A tenant that exceeds its own allowance loses its oldest entries. When the whole store is full, the oldest
entry goes, whichever tenant stored it. The oldest entry is the one that was not read or written for longest.
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Generic, Protocol, TypeVar

import structlog
from pydantic import BaseModel, ValidationError

from chassis.errors import DependencyUnavailable
from chassis.resilience.deadlines import Clock

_SWEEP_EVERY_S = 10.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Allowance:
    """The most entries and bytes."""

    count: float = inf
    size: float = inf


AllowanceOf = Callable[[str], Allowance]
"""The allowance of a tenant."""


def unlimited(_tenant: str) -> Allowance:
    """Return no limit for a tenant."""
    return Allowance()


class Store(Protocol):
    """Stores bytes, each entry for its own time. A full store may evict an entry earlier.

    Keys of different tenants must differ; `tenant` is whose allowance an entry counts for. Each method is one
    step for all callers, and raises `DependencyUnavailable` if the store does not answer.
    """

    async def get(self, key: str) -> bytes | None:
        """Return the value."""

    async def put(self, key: str, value: bytes, ttl_s: float, tenant: str) -> None:
        """Store or replace the value."""

    async def claim(self, key: str, value: bytes, ttl_s: float, tenant: str) -> bytes | None:
        """Store the value if there is none. Otherwise return the one that there is."""

    async def items(self, key: str) -> Sequence[bytes]:
        """Return a list with its head; empty if there is none."""

    async def append(self, key: str, item: bytes, ttl_s: float, tenant: str, change: "ListChange") -> bool:
        """Append to a list, and restart its time. Return False if there is none."""

    async def delete(self, key: str, tenant: str) -> bool:
        """Delete the entry. Return whether there was one."""


@dataclass(frozen=True, slots=True)
class ListChange:
    """The change of a list by `Store.append`: it keeps a head, and then the newest `most` items.

    `head`: the new head; None leaves it as it is, empty at first. `create`: begin a list if there is none.
    """

    most: int
    head: bytes | None = None
    create: bool = False


async def delete_unreadable(store: Store, key: str, tenant: str, what: str) -> None:
    """Delete an entry that another program or version wrote. Neither its key nor its value is logged."""
    log.warning("stored_value_unreadable", what=what)
    try:
        await store.delete(key, tenant)
    except DependencyUnavailable as error:
        log.warning("stored_value_not_deleted", what=what, reason=error.kind.value)


Model = TypeVar("Model", bound=BaseModel)


def parse_stored(kind: type[Model], value: bytes) -> Model | None:
    """Return a stored value; None if it has another shape, or a word that only another version knows."""
    try:
        model = kind.model_validate_json(value)
    except ValidationError:
        return None
    return None if _has_unknown_word(model.model_dump()) else model


def _has_unknown_word(value: object) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_unknown_word, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Enum) and value.name not in type(value).__members__


async def read_stored(store: Store, key: str, tenant: str, kind: type[Model], what: str) -> Model | None:
    """Return the value of `key`; None if there is none, or an unreadable one, which is deleted."""
    value = await store.get(key)
    model = None if value is None else parse_stored(kind, value)
    if value is not None and model is None:
        await delete_unreadable(store, key, tenant, what)
    return model


Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[Value]):
    value: Value
    size: int
    tenant: str
    until: float


class Entries(Generic[Value]):
    """A bounded dictionary in memory, for one thread. Sizes are in bytes, as the caller counts them."""

    def __init__(
        self, most: Allowance, allowance_of: AllowanceOf = unlimited, clock: Clock = time.monotonic
    ) -> None:
        self._most = most
        self._allowance_of = allowance_of
        self._clock = clock
        self._entries: OrderedDict[str, _Entry[Value]] = OrderedDict()
        self._counts: Counter[str] = Counter()
        self._sizes: Counter[str] = Counter()
        self._sweep_at = clock() + _SWEEP_EVERY_S

    @property
    def usage(self) -> Allowance:
        """Return the number of entries and bytes."""
        return Allowance(len(self._entries), self._sizes.total())

    def get(self, key: str) -> Value | None:
        """Return the value, which then is the newest."""
        self._drop_expired()
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.until <= self._clock():
            self.delete(key)
            return None
        self._entries.move_to_end(key)
        return entry.value

    def put(self, key: str, value: Value, size: int, tenant: str, ttl_s: float = inf) -> None:
        """Store or replace a value, and evict others for it; one larger than the store is not stored."""
        self._drop_expired()
        self.delete(key)
        if size > self._most.size:
            return
        self._entries[key] = _Entry(value, size, tenant, self._clock() + ttl_s)
        self._counts[tenant] += 1
        self._sizes[tenant] += size
        allowed = self._allowance_of(tenant)
        while self._counts[tenant] > 1 and (
            self._counts[tenant] > allowed.count or self._sizes[tenant] > allowed.size
        ):
            self.delete(next(key for key, entry in self._entries.items() if entry.tenant == tenant))
        while len(self._entries) > self._most.count or self._sizes.total() > self._most.size:
            self.delete(next(iter(self._entries)))

    def delete(self, key: str) -> bool:
        entry = self._entries.pop(key, None)
        if entry is None:
            return False
        self._counts[entry.tenant] -= 1
        self._sizes[entry.tenant] -= entry.size
        if not self._counts[entry.tenant]:
            del self._counts[entry.tenant], self._sizes[entry.tenant]
        return True

    def _drop_expired(self) -> None:
        """Delete expired entries from time to time, also those that are not read again."""
        now = self._clock()
        if now >= self._sweep_at:
            self._sweep_at = now + _SWEEP_EVERY_S
            for key in [key for key, entry in self._entries.items() if entry.until <= now]:
                self.delete(key)


class MemoryStore:
    """A `Store` for one event loop: no method suspends, so each is one step for all callers."""

    def __init__(
        self,
        max_bytes: float = 16 * 2**20,
        max_entries: float = inf,
        allowance_of: AllowanceOf = unlimited,
        clock: Clock = time.monotonic,
    ) -> None:
        self.entries = Entries[tuple[bytes, ...]](Allowance(max_entries, max_bytes), allowance_of, clock)

    async def get(self, key: str) -> bytes | None:
        items = self.entries.get(key)
        return None if items is None else items[0]

    async def put(self, key: str, value: bytes, ttl_s: float, tenant: str) -> None:
        self._put(key, (value,), ttl_s, tenant)

    async def claim(self, key: str, value: bytes, ttl_s: float, tenant: str) -> bytes | None:
        current = await self.get(key)
        if current is None:
            self._put(key, (value,), ttl_s, tenant)
        return current

    async def items(self, key: str) -> Sequence[bytes]:
        return self.entries.get(key) or ()

    async def append(self, key: str, item: bytes, ttl_s: float, tenant: str, change: ListChange) -> bool:
        items = self.entries.get(key)
        if items is None and not change.create:
            return False
        head, *rest = items or (b"",)
        head = head if change.head is None else change.head
        self._put(key, (head, *[*rest, item][-change.most :]), ttl_s, tenant)
        return True

    async def delete(self, key: str, tenant: str) -> bool:
        return self.entries.get(key) is not None and self.entries.delete(key)

    def _put(self, key: str, items: tuple[bytes, ...], ttl_s: float, tenant: str) -> None:
        self.entries.put(key, items, len(key) + sum(map(len, items)), tenant, ttl_s)
