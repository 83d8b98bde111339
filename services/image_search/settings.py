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

    port: int = Field(default=7103, description="Port to listen on.")
    engine: Engine = Field(default=Engine.POCKET, description="`pocket`, `clip` on a GPU, or `remote`.")
    workers: int = Field(default=2, ge=1, description="Calls that run at once in the `pocket` engine.")
    data_dir: Path = Field(
        default=Path("var/image_search"), description="Folder of the embedded store and of local features."
    )
    thumbnails: bool = Field(
        default=False, description="Keep a thumbnail of each indexed photo, for the operator's page."
    )
    disk_reserve_mib: int = Field(
        default=256,
        ge=8,
        description="MiB to keep free on the disk of the embedded store. With less, nothing is indexed.",
    )
    qdrant_url: str = Field(default="", description="A Qdrant server to use instead of the embedded store.")
    max_images: int = Field(default=16, ge=1, description="Photos in one search or indexing call.")
    max_side: int = Field(
        default=1600, ge=320, description="Longest side of a photo in pixels. Larger photos are scaled down."
    )
    reserve_ms: int = Field(
        default=60, ge=0, description="Verification stops this long before the deadline, in milliseconds."
    )
    glances: int = Field(default=20, ge=1, description="`pocket`: candidates that are compared quickly.")
    verifications: int = Field(default=6, ge=1, description="`pocket`: candidates that are verified in full.")
    photos_at_once: int = Field(
        default=2, ge=1, description="`pocket`: photos of one call that are searched in parallel."
    )
    ends_above: float = Field(
        default=1.25,
        ge=1,
        description="`clip`, `remote`: photos longer than this ratio are also searched by both ends.",
    )
    midpoint: float = Field(
        default=0.75, ge=-1, le=1, description="`clip`, `remote`: the cosine with a probability of one half."
    )
    slope: float = Field(
        default=30.0, gt=0, description="`clip`, `remote`: slope of the probability over the cosine."
    )
    texts: bool | None = Field(
        default=None, description="Search by text too. Unset: `clip` does, `remote` does not."
    )
    text_midpoint: float = Field(
        default=0.25, ge=-1, le=1, description="As `midpoint`, between text and photo."
    )
    over_fetch: int = Field(
        default=4, ge=1, description="`clip`, `remote`: points fetched for each thing that is wanted."
    )
    remote_shape: RemoteShape = Field(default=RemoteShape.INFINITY, description="`remote`: the server's API.")
    remote_max_side: int = Field(
        default=768, ge=64, description="`remote`: side of the squares that are sent, in pixels."
    )
    remote_images: int = Field(default=16, ge=1, description="`remote`: most photos in one request.")
    remote_input_type: str = Field(default="", description="`remote`: Cohere's own service needs `image`.")

    @property
    def takes_texts(self) -> bool:
        """Whether pictures can be searched by text."""
        usual = self.engine is Engine.CLIP
        return self.engine is not Engine.POCKET and (usual if self.texts is None else self.texts)
