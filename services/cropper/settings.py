"""Settings of the cropper, from `LOREGLASS_CROPPER_*`."""

from enum import StrEnum

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import ModelSettings


class Engine(StrEnum):
    """Who proposes the regions."""

    POCKET = "pocket"
    GROUNDING_DINO = "grounding_dino"


class CropperSettings(ModelSettings):
    """How large photos may be, how many regions a reply may hold, and what the detector is sure of."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_CROPPER_")

    port: int = 7102
    engine: Engine = Engine.POCKET
    max_side: int = Field(default=2560, ge=320, description="photos are shrunk to this when decoded, pixels")
    most_regions: int = Field(default=16, ge=1, description="upper limit of the caller's max_regions")
    jpeg_quality: int = Field(default=90, ge=50, le=100)
    max_batch: int = Field(default=2, ge=1, description="(photo, prompt) pairs in a pass; 1.1 GiB each")
    group_size: int = Field(default=6, ge=1, description="labels that share a prompt")
    box_threshold: float = Field(
        default=0.4, ge=0, le=1, description="a box less sure than this is no region"
    )
    text_threshold: float = Field(default=0.3, ge=0, le=1, description="a weaker word does not name a box")
    most_overlap: float = Field(default=0.8, gt=0, le=1, description="boxes that overlap more are one thing")
