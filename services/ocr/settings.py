"""Settings of the ocr service, from `LOREGLASS_OCR_*`."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import EngineName, ServiceSettings


class Engine(EngineName):
    """Engines that read photos."""

    BUILTIN = "builtin"


class OcrSettings(ServiceSettings):
    """`detection_side` and `max_side` are the dials between speed and small print; see the README."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_OCR_")

    port: int = Field(default=7107, description="Port to listen on.")
    engine: Engine = Field(default=Engine.BUILTIN, description="`builtin`.")
    detection_side: int = Field(
        default=864,
        ge=320,
        le=4096,
        description="Longest side for text detection, in pixels. Smaller is faster and misses small print.",
    )
    max_side: int = Field(
        default=1920, ge=320, description="Longest side of a photo in pixels. Larger photos are scaled down."
    )
    threads: int = Field(default=1, ge=1, description="Cores for one photo.")
    cache_entries: int = Field(
        default=256, ge=0, description="Replies that are cached by content hash. 0: none."
    )
