"""Settings of the ocr service, from `LOREGLASS_OCR_*`."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import ServiceSettings


class OcrSettings(ServiceSettings):
    """`detection_side` and `max_side` are the dials between speed and small print; see the README."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_OCR_")

    port: int = 7107
    detection_side: int = Field(default=960, ge=320, le=4096, description="longer side for detection, pixels")
    max_side: int = Field(default=1920, ge=320, description="photos are shrunk to this when decoded, pixels")
    min_score: float = Field(default=0.5, ge=0.0, le=1.0, description="lines read with less are left out")
    max_lines: int = Field(default=200, ge=1, description="of a photo, at most; the largest print first")
    max_text_width: int = Field(
        default=64_000, ge=9_600, description="pixels of all lines together, laid side by side 48 pixels high"
    )
    threads: int = Field(default=1, ge=1, description="cores that one photo may use")
    cache_entries: int = Field(default=256, ge=0, description="replies kept by content hash; 0 for none")
