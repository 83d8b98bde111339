"""On whose behalf work is done, for what is kept or shared out by it: a name that tells nobody whose it is.

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
    """The tenant's, the same at all gateways that share `secret`; without that nobody can work it out."""
    return hmac.digest(secret, f"scope\0{tenant}".encode(), hashlib.sha256).hex()[:32]


def current_scope() -> str:
    """Of the work that is being done; empty where nobody named one, which is a scope of its own."""
    return _SCOPE.get()


def read_scope(header: str) -> str:
    """What a caller's header names; empty for none and for what is no name."""
    return header if _NAME.fullmatch(header) else ""


@contextmanager
def scoped(scope: str) -> Iterator[None]:
    """What is done in the block is done in `scope`."""
    token = _SCOPE.set(scope)
    try:
        yield
    finally:
        _SCOPE.reset(token)
