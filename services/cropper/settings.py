"""Settings of the cropper, from `LOREGLASS_CROPPER_*`."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import EngineName, ModelSettings


class Engine(EngineName):
    """Engines that propose regions."""

    BUILTIN = "builtin"
    GROUNDING_DINO = "grounding_dino"


class CropperSettings(ModelSettings):
    """The size of photos and the number of regions in a reply."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_CROPPER_")

    port: int = Field(default=7102, description="Port to listen on.")
    engine: Engine = Field(default=Engine.BUILTIN, description="`grounding_dino` is for a GPU.")
    max_side: int = Field(
        default=2560, ge=320, description="Longest side of a photo in pixels. Larger photos are scaled down."
    )
    most_regions: int = Field(default=16, ge=1, description="Upper limit of the request's `max_regions`.")
    max_batch: int = Field(
        default=2, ge=1, description="Pairs of photo and prompt in a forward pass; 1.1 GiB each."
    )
