"""The platform on this machine: its addresses, and its write token in a file that only its user can read.

`loreglass index` finds the token by the port of the service that it writes to.
"""

import ipaddress
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import structlog
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

_LOOPBACK = "http://127.0.0.1"

log = structlog.get_logger()


class LocalPorts(BaseSettings):
    """Ports of a platform in one process, from `LOREGLASS_*`."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_", frozen=True, extra="ignore")

    port: int = Field(default=7100, ge=0, le=65535, description="Port of the gateway. 0 picks a free one.")
    service_port: int = Field(
        default=7101,
        ge=0,
        le=65000,
        description="Port of the first of the eight services. 0 picks free ones.",
    )


def gateway_url() -> str:
    """Return the gateway's address on this machine."""
    default = LocalPorts.model_fields["port"].default
    return f"{_LOOPBACK}:{LocalPorts().port or default}"


def service_url(default_port: int) -> str:
    """Return the address on this machine of the service that has this port by default."""
    default = LocalPorts.model_fields["service_port"].default
    return f"{_LOOPBACK}:{(LocalPorts().service_port or default) + default_port - default}"


def is_loopback(host: str) -> bool:
    """Return whether this name or address is reached from this machine only."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


class StateHome(BaseSettings):
    """The folder for the state of programs (XDG base directory specification)."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    xdg_state_home: Path = Field(default_factory=lambda: Path.home() / ".local" / "state")


@contextmanager
def shared_token(token: str, ports: Sequence[int]) -> Iterator[None]:
    """Let programs of this user write to the services at these ports, until the context ends."""
    files = [_file(port) for port in ports]
    try:
        for file in files:
            _write(file, token)
    except (OSError, RuntimeError) as error:  # no home, or one that cannot be written
        log.warning("token_not_shared", reason=str(error), remedy="Set LOREGLASS_SERVICE_WRITE_TOKEN.")
    try:
        yield
    finally:
        for file in files:
            with suppress(OSError):
                file.unlink()


def local_token(url: str) -> str:
    """Return the write token of the service at `url`, if this user runs it on this machine; else empty."""
    try:
        parts = urlsplit(url)
        if not is_loopback(parts.hostname or "") or not parts.port:
            return ""
        file = _file(parts.port)
        return file.read_text("ascii") if file.stat().st_uid == os.getuid() else ""
    except (OSError, ValueError, RuntimeError):
        return ""


def _file(port: int) -> Path:
    return StateHome().xdg_state_home / "loreglass" / f"write-token-{port}"


def _write(file: Path, token: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(token)
