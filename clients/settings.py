"""Settings of what calls the gateway, from `LOREGLASS_*`."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class ClientSettings(BaseSettings):
    """Where the gateway is, and the key that it asks for, if any."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_", frozen=True, extra="ignore")

    gateway_url: str = "http://127.0.0.1:7100"
    api_key: SecretStr = SecretStr("")


class AgentSettings(ClientSettings):
    """The agent in CRAG-MM's official evaluation: who answers, and how many questions at once."""

    agent_pipeline: str = "loreglass"
    agent_concurrency: int = Field(default=8, ge=1, le=16)
