"""Callers: the tenant and its priority come from the caller's key, never from what it says of itself.

The keys file is TOML, an entry a key: `loreglass key new` prints one. Revoke a key by removing its entry; the
file is read again when it changes. It holds digests only, and neither keys nor digests are ever logged.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Annotated, Self

import structlog
from pydantic import BaseModel, ConfigDict, Field

from chassis.errors import InvalidRequest, Unauthorized
from chassis.keys import TENANT_NAME, ApiKey
from chassis.resilience.deadlines import Clock
from chassis.startup import WrongSettings
from chassis.validation import read_settings, read_toml
from contracts import headers
from gateway.settings import GatewaySettings
from gateway.state import Priority
from gateway.store import Allowance

PUBLIC = "public"
"""The tenant of all callers if there is no keys file."""

_LOOK_AGAIN_S = 1.0
_NO_DIGEST = "0" * 64
_LOWEST_FIRST = tuple(reversed(Priority))

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller and its priority. `operator`: it may also administer the index."""

    tenant: str
    priority: Priority
    operator: bool = False


ANYBODY = Caller(PUBLIC, Priority.INTERACTIVE)


@dataclass(frozen=True, slots=True)
class Quota:
    """The most requests of one tenant, and the most of its newest entries that are stored.

    `stored_bytes`: of its conversations; as many of its stored replies and sounds, and of its memories.
    """

    requests_per_minute: float = inf
    in_flight: float = inf
    sessions: float = inf
    traces: float = inf
    stored_bytes: float = inf


class KeyEntry(BaseModel):
    """A key as the file has it. `priority`: the highest that it may ask for."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    prefix: Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9]{8}$")]
    sha256: Annotated[str, Field(strict=True, pattern=r"^[0-9a-f]{64}$")]
    tenant: Annotated[str, Field(strict=True, pattern=f"^(?:{TENANT_NAME.pattern})$")]
    priority: Priority
    operator: Annotated[bool, Field(strict=True)] = False


_Count = Annotated[int, Field(strict=True, ge=1)]


class _TenantEntry(BaseModel):
    """A tenant with its own quota, as the file has it. Missing fields are as for other tenants."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    name: Annotated[str, Field(strict=True, pattern=f"^(?:{TENANT_NAME.pattern})$")]
    requests_per_minute: _Count | None = None
    in_flight: _Count | None = None
    sessions: _Count | None = None
    traces: _Count | None = None
    stored_bytes: _Count | None = None


class KeysFile(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    key: list[KeyEntry] = []
    tenant: list[_TenantEntry] = []


@dataclass(frozen=True, slots=True)
class _Grants:
    """The content of the file, by a key's prefix and by a tenant's name."""

    keys: Mapping[str, KeyEntry] = field(default_factory=dict)
    quotas: Mapping[str, Quota] = field(default_factory=dict)


_Version = tuple[int, int, int]


class Keys:
    """The keys that are let in. Without a file every caller is, with any key or none. Raises `WrongSettings`.

    `quota`: of tenants without one of their own in the file. `local_without_key`: this machine needs none.
    """

    def __init__(
        self,
        path: Path | None,
        clock: Clock = time.monotonic,
        quota: Quota = Quota(),
        *,
        local_without_key: bool = False,
    ) -> None:
        self._path = path
        self._local_without_key = local_without_key
        self._clock = clock
        self._looked_at = clock()
        self._version = _version(path)
        self._quota = quota
        self._grants = _read(path, quota) if path else _Grants()

    @classmethod
    def of_settings(cls, settings: GatewaySettings) -> Self:
        """Return the keys of the settings' file. Raises `WrongSettings`."""
        quota = Quota(
            requests_per_minute=settings.tenant_requests_per_minute,
            in_flight=settings.tenant_in_flight,
            sessions=settings.tenant_sessions,
            traces=settings.tenant_traces,
            stored_bytes=settings.tenant_stored_bytes,
        )
        return cls(settings.keys, quota=quota, local_without_key=settings.local_without_key)

    def quota(self, tenant: str) -> Quota:
        """Return the tenant's quota. Without a keys file there is no limit: there is one tenant only."""
        return self._grants.quotas.get(tenant, self._quota) if self._path else Quota()

    def caller(self, authorization: str | None, wanted: str | None, *, local: bool = False) -> Caller:
        """Return the caller of a request with these headers, `Authorization` and `headers.PRIORITY`.

        `local`: it runs on this machine.

        Raises `Unauthorized` for a key that is missing or unknown, `InvalidRequest` for a priority that there
        is none of. A priority above the key's own is lowered to it.
        """
        if self._path is None:
            caller = ANYBODY
        elif local and self._local_without_key:  # chat clients send some key, even if none is needed
            caller = self.holder(authorization) or ANYBODY
        else:
            caller = self._holder(authorization)
        if wanted is None:
            return caller
        try:
            priority = Priority(wanted.strip().lower())
        except ValueError as error:
            raise InvalidRequest(f"{headers.PRIORITY}: must be one of {', '.join(Priority)}.") from error
        return replace(caller, priority=min(caller.priority, priority, key=_LOWEST_FIRST.index))

    def holder(self, authorization: str | None) -> Caller | None:
        """Return the caller of a key; None for no valid key, or without a keys file."""
        if self._path is None:
            return None
        try:
            return self._holder(authorization)
        except Unauthorized:
            return None

    def sessions(self, tenant: str) -> Allowance:
        quota = self.quota(tenant)
        return Allowance(quota.sessions, quota.stored_bytes)

    def traces(self, tenant: str) -> Allowance:
        return Allowance(self.quota(tenant).traces)

    def answers(self, tenant: str) -> Allowance:
        """Return its allowance of stored replies and sounds, and of memories."""
        return Allowance(size=self.quota(tenant).stored_bytes)

    def look_again_at_once(self) -> None:
        """Read the file before the next request if it has changed."""
        self._looked_at = -inf

    def _holder(self, authorization: str | None) -> Caller:
        if self._path is not None:
            self._look_again(self._path)
        scheme, _, token = (authorization or "").strip().partition(" ")
        key = ApiKey.parse(token.strip()) if scheme.lower() == "bearer" else None
        if key is None:
            raise Unauthorized("Send a key: Authorization: Bearer lg_...")
        grant = self._grants.keys.get(key.prefix)
        matches = key.has_digest(grant.sha256 if grant else _NO_DIGEST)  # in the same time, grant or none
        if grant is None or not matches:
            raise Unauthorized("This key is not known here.")
        return Caller(grant.tenant, grant.priority, grant.operator)

    def _look_again(self, path: Path) -> None:
        """Take up a change of the file; one that cannot be used leaves the keys as they are."""
        now = self._clock()
        if now - self._looked_at < _LOOK_AGAIN_S:
            return
        self._looked_at = now
        version = _version(path)
        if version == self._version:
            return
        self._version = version
        try:
            self._grants = _read(path, self._quota)
        except WrongSettings as error:
            log.error("keys_file_unusable", fault=str(error))
        else:
            log.info("keys_file_read", keys=len(self._grants.keys))


def _version(path: Path | None) -> _Version | None:
    """Return a value that changes when the file is written or replaced; None without a file."""
    try:
        status = path.stat() if path else None
    except OSError:
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_size) if status else None


def read_keys_file(path: Path) -> KeysFile:
    """Read the keys file. Raises `WrongSettings` if it cannot be used."""
    name = f"The keys file {path}"
    return read_settings(KeysFile, read_toml(path, name), name)


def _read(path: Path, quota: Quota) -> _Grants:
    name = f"The keys file {path}"
    keys: dict[str, KeyEntry] = {}
    file = read_keys_file(path)
    for number, entry in enumerate(file.key, start=1):
        if entry.prefix in keys:
            raise WrongSettings(f"{name} cannot be used: key {number} has the prefix of an earlier one.")
        keys[entry.prefix] = entry
    own = (each.model_dump(exclude_none=True) for each in file.tenant)
    return _Grants(keys, {each.pop("name"): replace(quota, **each) for each in own})
