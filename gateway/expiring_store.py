"""Bytes that are kept under a key for a while."""

from typing import Protocol


class ExpiringStore(Protocol):
    """A bounded store of small values. Every method raises `DependencyUnavailable` where it does not answer.

    A value may be gone before its time: when the store is full, or a tenant's allowance is used up, some of
    the tenant's that holds the most give way. Keys are unlike each other between tenants.
    """

    async def put(self, key: str, value: bytes, ttl_s: float, tenant: str) -> None:
        """Keep `value` for `ttl_s` seconds, in the place of what was kept under the key."""
        ...

    async def claim(self, key: str, value: bytes, ttl_s: float, tenant: str) -> bytes | None:
        """Keep `value` if nothing is kept under the key; otherwise what is. One step for all callers."""
        ...

    async def get(self, key: str) -> bytes | None:
        """What is kept under the key."""
        ...

    async def drop(self, key: str, tenant: str) -> None:
        """Keep nothing under the tenant's key."""
        ...

    async def close(self) -> None:
        """Let go of connections and memory."""
        ...
