"""Settings that every app has. Built once at the edge; nothing else reads the environment."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class AppSettings(BaseSettings):
    """Where an app listens and what it accepts. Subclasses set `env_prefix`."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    host: str = "127.0.0.1"
    port: int = Field(default=0, ge=0, le=65535, description="0 picks a free port")
    default_deadline_ms: int = Field(default=30_000, gt=0, description="for callers that send no deadline")
    max_body_bytes: int = Field(default=64 * 2**20, gt=0)
    log_level: str = "info"


class ServiceSettings(AppSettings):
    """Settings of a model service: how many calls run at once and how many may wait."""

    engine: str = "pocket"
    workers: int = Field(default=1, ge=1)
    queue: int = Field(default=32, ge=0)
