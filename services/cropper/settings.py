"""Settings of the cropper, from `LOREGLASS_CROPPER_*`."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import ServiceSettings


class CropperSettings(ServiceSettings):
    """How large photos may be and how many regions a reply may hold."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_CROPPER_")

    port: int = 7102
    max_side: int = Field(default=2560, ge=320, description="photos are shrunk to this when decoded, pixels")
    most_regions: int = Field(default=16, ge=1, description="upper limit of the caller's max_regions")
    jpeg_quality: int = Field(default=90, ge=50, le=100)
