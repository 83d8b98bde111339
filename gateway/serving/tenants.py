"""Who is asking: the tenant and its priority come from the caller's key, never from what it says of itself.

The keys file is TOML, an entry a key: `loreglass key new` prints one. Revoke a key by removing its entry; the
file is read again when it changes. It holds digests only, and neither keys nor digests are ever logged.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import structlog
from pydantic import BaseModel, ConfigDict, Field

from chassis.errors import InvalidRequest, Unauthorized
from chassis.keys import TENANT_NAME, ApiKey
from chassis.resilience.deadlines import Clock
from chassis.startup import WrongSettings
from chassis.toml_files import checked, read_toml
from contracts import headers
from gateway.state import Priority

PUBLIC = "public"
"""Everybody's tenant where there are no keys."""

_LOOK_AGAIN_S = 1.0
_NO_DIGEST = "0" * 64
_LOWEST_FIRST = tuple(reversed(Priority))

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and how soon the answer is wanted. `operator`: who may also look after the index."""

    tenant: str
    priority: Priority
    operator: bool = False


@dataclass(frozen=True, slots=True)
class _Grant:
    """What a key is for. `priority`: the highest that it may ask for."""

    sha256: str
    caller: Caller


class _Entry(BaseModel):
    """A key as the file has it."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    prefix: Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9]{8}$")]
    sha256: Annotated[str, Field(strict=True, pattern=r"^[0-9a-f]{64}$")]
    tenant: Annotated[str, Field(strict=True, pattern=f"^(?:{TENANT_NAME.pattern})$")]
    priority: Priority
    operator: Annotated[bool, Field(strict=True)] = False


class _KeysFile(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    key: list[_Entry] = []


_Grants = Mapping[str, _Grant]
_Version = tuple[int, int, int]


class Keys:
    """The keys that are let in. Without a file every caller is, with any key or none."""

    def __init__(self, path: Path | None, clock: Clock = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._looked_at = clock()
        self._version = _version(path)
        self._grants: _Grants = _read(path) if path else {}
        self.fault: str | None = None

    @classmethod
    def load(cls, path: Path | None, clock: Clock = time.monotonic) -> "Keys":
        """The keys of the file. Raises `WrongSettings`."""
        return cls(path, clock)

    def caller(self, authorization: str | None, wanted: str | None) -> Caller:
        """Who sends these two headers, `Authorization` and `headers.PRIORITY`.

        Raises `Unauthorized` for a key that is missing or unknown, `InvalidRequest` for a priority that there
        is none of. A priority above the key's own is lowered to it.
        """
        granted = self._granted(authorization)
        return replace(granted, priority=_lower_of(granted.priority, wanted))

    def _granted(self, authorization: str | None) -> Caller:
        if self._path is None:
            return Caller(PUBLIC, Priority.INTERACTIVE)
        self._look_again(self._path)
        scheme, _, token = (authorization or "").strip().partition(" ")
        key = ApiKey.parse(token.strip()) if scheme.lower() == "bearer" else None
        if key is None:
            raise Unauthorized("Send a key: Authorization: Bearer lg_...")
        grant = self._grants.get(key.prefix)
        known = key.has_digest(grant.sha256 if grant else _NO_DIGEST)
        if grant is None or not known:
            raise Unauthorized("This key is not known here.")
        return grant.caller

    def _look_again(self, path: Path) -> None:
        """Take up a change of the file; one that cannot be used leaves the keys as they are and a `fault`."""
        now = self._clock()
        if now - self._looked_at < _LOOK_AGAIN_S:
            return
        self._looked_at = now
        version = _version(path)
        if version == self._version:
            return
        self._version = version
        try:
            self._grants, self.fault = _read(path), None
        except WrongSettings as error:
            self.fault = str(error)
            log.error("keys_file_unusable", fault=self.fault)
        else:
            log.info("keys_file_read", keys=len(self._grants))


def _lower_of(granted: Priority, wanted: str | None) -> Priority:
    if wanted is None:
        return granted
    try:
        asked = Priority(wanted.strip().lower())
    except ValueError as error:
        raise InvalidRequest(f"{headers.PRIORITY}: must be one of {', '.join(Priority)}.") from error
    return min(granted, asked, key=_LOWEST_FIRST.index)


def _version(path: Path | None) -> _Version | None:
    """Changes when the file is written or replaced; None where there is none."""
    try:
        found = path.stat() if path else None
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size) if found else None


def _read(path: Path) -> _Grants:
    name = f"The keys file {path}"
    grants: dict[str, _Grant] = {}
    for number, entry in enumerate(checked(_KeysFile, read_toml(path, name), name).key, start=1):
        if entry.prefix in grants:
            raise WrongSettings(f"{name} cannot be used: key {number} has the prefix of an earlier one.")
        grants[entry.prefix] = _Grant(entry.sha256, Caller(entry.tenant, entry.priority, entry.operator))
    return grants
