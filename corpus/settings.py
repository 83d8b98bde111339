"""Where the services are, from `LOREGLASS_IMAGE_SEARCH_URL` and `LOREGLASS_TEXT_SEARCH_URL`."""

from pydantic_settings import BaseSettings, SettingsConfigDict


class CorpusSettings(BaseSettings):
    """The services that an ingestion writes to."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_prefix="LOREGLASS_")

    image_search_url: str = "http://127.0.0.1:7103"
    text_search_url: str = "http://127.0.0.1:7104"
