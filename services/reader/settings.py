"""Settings of the reader, from `LOREGLASS_READER_*`."""

from typing import Self

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from chassis.settings import EngineName, ModelSettings


class Engine(EngineName):
    """Engines that read passages."""

    BUILTIN = "builtin"
    EXTRACTIVE = "extractive"


class ReaderSettings(ModelSettings):
    """How the extractive engine cuts passages into windows, and how its margin becomes a probability."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_READER_")

    port: int = 7108
    engine: Engine = Engine.BUILTIN

    model: str = Field(default="", description="a folder or hub id; empty: deepset/minilm-uncased-squad2")
    window_tokens: int = Field(default=384, ge=32, le=512, description="of question and passage together")
    stride_tokens: int = Field(default=128, ge=0, description="that two windows of a passage share")
    answer_tokens: int = Field(default=30, ge=1, description="of the longest answer")
    max_windows: int = Field(default=256, ge=1, description="read for one request, passages' heads first")
    temperature: float = Field(default=2.0, gt=0, description="divides the margin over no answer")

    @model_validator(mode="after")
    def _windows_move_on(self) -> Self:
        if self.stride_tokens > self.window_tokens // 2:
            raise ValueError("stride_tokens: at most half of window_tokens")
        return self
