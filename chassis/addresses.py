"""Addresses of the platform on this machine, from the ports that `loreglass serve` uses."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

_LOOPBACK = "http://127.0.0.1"


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
