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

    port: int = Field(default=7102, description="Port to listen on.")
    engine: Engine = Field(default=Engine.POCKET, description="`pocket`, or `grounding_dino` on a GPU.")
    max_side: int = Field(
        default=2560, ge=320, description="Longest side of a photo in pixels. Larger photos are scaled down."
    )
    most_regions: int = Field(default=16, ge=1, description="Upper limit of the request's `max_regions`.")
    jpeg_quality: int = Field(default=90, ge=50, le=100, description="JPEG quality of the regions.")
    max_batch: int = Field(
        default=2, ge=1, description="Pairs of photo and prompt in a forward pass; 1.1 GiB each."
    )
    group_size: int = Field(default=6, ge=1, description="Labels that share a prompt.")
    box_threshold: float = Field(default=0.4, ge=0, le=1, description="Least confidence of a box.")
    text_threshold: float = Field(
        default=0.3, ge=0, le=1, description="Least confidence of a word that names a box."
    )
    most_overlap: float = Field(
        default=0.8, gt=0, le=1, description="Boxes that overlap more than this count as one thing."
    )
