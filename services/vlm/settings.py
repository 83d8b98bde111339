"""What the gate reads from the environment."""

from pydantic import SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class GateSettings(BaseSettings):
    """`VLLM_API_KEY`, by vLLM's own name: the key that the server was started with."""

    model_config = SettingsConfigDict(env_prefix="VLLM_", frozen=True, extra="ignore")

    api_key: SecretStr = SecretStr("")
