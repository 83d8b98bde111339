"""The scope of a tenant: an anonymous name by which caches and gates keep tenants apart.

The gateway names the scope of each tenant, and calls to services carry it. Caches have it in their keys, so
that nobody learns from a quick reply what another has asked; gates share their places out by it.
"""

import hashlib
import hmac
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

_NAME = re.compile(r"[0-9a-f]{32}")
_SCOPE: ContextVar[str] = ContextVar("scope", default="")


@lru_cache(1024)
def scope_of(secret: bytes, tenant: str) -> str:
    """Return the tenant's scope, the same at all gateways that share `secret`."""
    return hmac.digest(secret, f"scope\0{tenant}".encode(), hashlib.sha256).hex()[:32]


def current_scope() -> str:
    """Return the scope of the current work; empty, a scope of its own, if none was named."""
    return _SCOPE.get()


def read_scope(header: str) -> str:
    """Return the scope in a caller's header; empty if it is missing or malformed."""
    return header if _NAME.fullmatch(header) else ""


@contextmanager
def scoped(scope: str) -> Iterator[None]:
    """Run the block in `scope`."""
    token = _SCOPE.set(scope)
    try:
        yield
    finally:
        _SCOPE.reset(token)
