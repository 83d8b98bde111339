"""Addresses of services (`LOREGLASS_IMAGE_SEARCH_URL`, `…_TEXT_SEARCH_URL`, `…_OCR_URL`), and their token."""

import os
import sys
from functools import partial

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from chassis.addresses import local_token, service_url
from chassis.settings import WriteToken
from chassis.validation import from_environment


class CorpusSettings(BaseSettings):
    """The services that an ingestion writes to or asks. By default they are those on this machine."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_prefix="LOREGLASS_")

    image_search_url: str = Field(
        default_factory=partial(service_url, 7103), description="Address of the image search service."
    )
    text_search_url: str = Field(
        default_factory=partial(service_url, 7104), description="Address of the text search service."
    )
    ocr_url: str = Field(
        default_factory=partial(service_url, 7107), description="Address of the ocr service."
    )
    access: WriteToken = Field(default_factory=WriteToken)


def set_ray_environment() -> None:
    """Turn Ray's usage statistics and logs off, and pass PYTHONPATH on to its processes."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # No process is begun that nothing will run in. (Ray takes the rest of a name as it is written.)
    os.environ["RAY_prestart_worker_first_driver"] = "0"  # noqa: SIM112
    os.environ["RAY_BACKEND_LOG_LEVEL"] = "fatal"
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)


def corpus_settings(
    *, image_search_url: str = "", text_search_url: str = "", ocr_url: str = ""
) -> CorpusSettings:
    """Return the settings of the environment; an address that is given counts. Raises `WrongSettings`."""
    given = {"image_search_url": image_search_url, "text_search_url": text_search_url, "ocr_url": ocr_url}
    return from_environment(CorpusSettings, **{name: url for name, url in given.items() if url})


def write_token(url: str) -> str:
    """Return the write token of the service at `url`; empty if it is open. Raises `WrongSettings`.

    It is taken from the environment or, for a platform on this machine, from where that keeps it.
    """
    return CorpusSettings().access.write_secret() or local_token(url)
