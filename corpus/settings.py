"""Where the services are (`LOREGLASS_IMAGE_SEARCH_URL`, `LOREGLASS_TEXT_SEARCH_URL`), and their token."""

import os
import sys
from dataclasses import dataclass

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from chassis.settings import WriteToken


class CorpusSettings(BaseSettings):
    """The services that an ingestion writes to."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_prefix="LOREGLASS_")

    image_search_url: str = "http://127.0.0.1:7103"
    text_search_url: str = "http://127.0.0.1:7104"
    access: WriteToken = Field(default_factory=WriteToken)


@dataclass(frozen=True, slots=True)
class RaySettings:
    """What Ray is told by its environment, which its processes inherit."""

    cpus: int

    @classmethod
    def quiet(cls) -> "RaySettings":
        """It tells nobody that it is used, and its processes find what this one imports."""
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        # No process is begun that nothing will run in. (Ray takes the rest of a name as it is written.)
        os.environ["RAY_prestart_worker_first_driver"] = "0"  # noqa: SIM112
        os.environ["RAY_BACKEND_LOG_LEVEL"] = "fatal"
        os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        return cls(cpus=os.cpu_count() or 1)


def write_token() -> str:
    """What the services ask those for who write; empty where they are open. Raises `WrongSettings`."""
    return CorpusSettings().access.write_secret()
