"""Settings of the command line, from `LOREGLASS_*`."""

from pydantic import SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class ClientSettings(BaseSettings):
    """Where the gateway is, and the key that it asks for, if any."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_", frozen=True, extra="ignore")

    gateway_url: str = "http://127.0.0.1:7100"
    api_key: SecretStr = SecretStr("")
