"""Settings of the evaluation, from `LOREGLASS_*`. Where the gateway is: `clients.settings`."""

from pydantic import SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class JudgeSettings(BaseSettings):
    """The model that judges, where the command names none: any endpoint with OpenAI's chat completions."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_JUDGE_", frozen=True, extra="ignore")

    url: str = ""
    model: str = ""
    key: SecretStr = SecretStr("")
