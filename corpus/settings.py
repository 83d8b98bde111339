"""Where the services are (`LOREGLASS_IMAGE_SEARCH_URL`, `LOREGLASS_TEXT_SEARCH_URL`), and their token."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from chassis.settings import WriteToken


class CorpusSettings(BaseSettings):
    """The services that an ingestion writes to."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_prefix="LOREGLASS_")

    image_search_url: str = "http://127.0.0.1:7103"
    text_search_url: str = "http://127.0.0.1:7104"
    access: WriteToken = Field(default_factory=WriteToken)


def write_token() -> str:
    """What the services ask those for who write; empty where they are open. Raises `WrongSettings`."""
    return CorpusSettings().access.write_secret()
