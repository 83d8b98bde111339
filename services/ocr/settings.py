"""Settings of the ocr service, from `LOREGLASS_OCR_*`."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import ServiceSettings


class OcrSettings(ServiceSettings):
    """`detection_side` and `max_side` are the dials between speed and small print; see the README."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_OCR_")

    port: int = Field(default=7107, description="Port to listen on.")
    detection_side: int = Field(
        default=960,
        ge=320,
        le=4096,
        description="Longest side for text detection, in pixels. Smaller is faster and misses small print.",
    )
    max_side: int = Field(
        default=1920, ge=320, description="Longest side of a photo in pixels. Larger photos are scaled down."
    )
    min_score: float = Field(default=0.5, ge=0.0, le=1.0, description="Least confidence of a line.")
    max_lines: int = Field(
        default=200, ge=1, description="Most lines of a photo; the largest print comes first."
    )
    max_text_width: int = Field(
        default=64_000,
        ge=9_600,
        description="Most pixels of all lines together, side by side at a height of 48 pixels.",
    )
    threads: int = Field(default=1, ge=1, description="Cores for one photo.")
    cache_entries: int = Field(
        default=256, ge=0, description="Replies that are cached by content hash. 0: none."
    )
