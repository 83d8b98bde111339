"""Settings of image_search, from `LOREGLASS_IMAGE_SEARCH_*`."""

from enum import StrEnum
from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import RemoteModelSettings
from services.image_search.engines.remote import RemoteShape


class Engine(StrEnum):
    """Which engine finds known things."""

    POCKET = "pocket"
    CLIP = "clip"
    REMOTE = "remote"


class ImageSearchSettings(RemoteModelSettings):
    """Where vectors and local features are, which engine makes them, and how much a search tries."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_IMAGE_SEARCH_")

    port: int = 7103
    engine: Engine = Engine.POCKET
    workers: int = Field(default=2, ge=1, description="pocket: a search need not wait for an indexing call")
    data_dir: Path = Field(
        default=Path("var/image_search"), description="of the embedded store and of the local features"
    )
    thumbnails: bool = Field(
        default=False, description="keep a small picture of each indexed photo in data_dir, for its operator"
    )
    disk_reserve_mib: int = Field(
        default=256,
        ge=8,
        description="kept free on the disk of the embedded store: with less nothing is indexed",
    )
    qdrant_url: str = Field(default="", description="a Qdrant server to use instead of the embedded store")
    max_images: int = Field(default=16, ge=1, description="photos in one search or indexing call")
    max_side: int = Field(default=1600, ge=320, description="photos are shrunk to this when decoded, pixels")
    reserve_ms: int = Field(default=60, ge=0, description="verification stops this long before the deadline")
    glances: int = Field(default=20, ge=1, description="pocket: candidates that are compared quickly")
    verifications: int = Field(default=6, ge=1, description="pocket: candidates that are verified in full")
    photos_at_once: int = Field(
        default=2, ge=1, description="pocket: photos of one call searched side by side"
    )
    ends_above: float = Field(
        default=1.25, ge=1, description="clip, remote: both ends of photos longer than this are searched too"
    )
    midpoint: float = Field(
        default=0.75, ge=-1, le=1, description="clip, remote: the cosine at which a hit is as likely as not"
    )
    slope: float = Field(default=30.0, gt=0, description="clip, remote: of the probability over the cosine")
    texts: bool | None = Field(
        default=None, description="search by text too; unset: clip does, and keeps its text tower; remote not"
    )
    text_midpoint: float = Field(default=0.25, ge=-1, le=1, description="as `midpoint`, of text and picture")
    over_fetch: int = Field(default=4, ge=1, description="clip, remote: points fetched per thing wanted")
    remote_shape: RemoteShape = RemoteShape.INFINITY
    remote_max_side: int = Field(default=768, ge=64, description="remote: of the squares sent, pixels")
    remote_images: int = Field(default=16, ge=1, description="remote: most images in one request")
    remote_input_type: str = Field(default="", description="remote: Cohere's own service wants `image`")

    @property
    def takes_texts(self) -> bool:
        """Whether pictures can be searched by text."""
        usual = self.engine is Engine.CLIP
        return self.engine is not Engine.POCKET and (usual if self.texts is None else self.texts)
