"""Settings of image_search, from `LOREGLASS_IMAGE_SEARCH_*`."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import ServiceSettings


class ImageSearchSettings(ServiceSettings):
    """Where vectors and local features are, and how much a search tries."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_IMAGE_SEARCH_")

    port: int = 7103
    workers: int = Field(default=2, ge=1, description="a search need not wait for an indexing call")
    data_dir: Path = Field(
        default=Path("var/image_search"), description="of the embedded store and of the local features"
    )
    qdrant_url: str = Field(default="", description="a Qdrant server to use instead of the embedded store")
    max_images: int = Field(default=16, ge=1, description="photos in one search or indexing call")
    max_side: int = Field(default=1600, ge=320, description="photos are shrunk to this when decoded, pixels")
    reserve_ms: int = Field(default=60, ge=0, description="verification stops this long before the deadline")
    glances: int = Field(default=20, ge=1, description="candidates that are compared quickly")
    verifications: int = Field(default=6, ge=1, description="candidates that are verified in full")
