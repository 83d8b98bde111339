"""Settings of the gateway's clients, from `LOREGLASS_*`."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from chassis.addresses import gateway_url


class ClientSettings(BaseSettings):
    """The gateway's address and the key for it. By default the gateway is the one on this machine."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_", frozen=True, extra="ignore")

    gateway_url: str = Field(default_factory=gateway_url, description="Address of the gateway.")
    api_key: SecretStr = Field(default=SecretStr(""), description="Key for the gateway, if it asks for one.")


class AgentSettings(ClientSettings):
    """The agent in CRAG-MM's official evaluation: its pipeline, and how many questions at once."""

    agent_pipeline: str = "loreglass"
    agent_concurrency: int = Field(default=8, ge=1, le=16)
