"""Settings of the command line, from `LOREGLASS_*`."""

from pydantic_settings import BaseSettings, SettingsConfigDict


class ClientSettings(BaseSettings):
    """Where the gateway is."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_", frozen=True, extra="ignore")

    gateway_url: str = "http://127.0.0.1:7100"
