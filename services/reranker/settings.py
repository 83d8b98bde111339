"""Settings of the reranker, from `LOREGLASS_RERANKER_*`."""

from pydantic_settings import SettingsConfigDict

from chassis.settings import ServiceSettings


class RerankerSettings(ServiceSettings):
    """Nothing beyond what every service has."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_RERANKER_")

    port: int = 7105
