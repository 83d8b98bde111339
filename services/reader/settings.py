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

    port: int = Field(default=7108, description="Port to listen on.")
    engine: Engine = Field(default=Engine.BUILTIN, description="`builtin`, or `extractive` on a GPU.")

    model: str = Field(
        default="", description="A folder or Hugging Face id. Empty: `deepset/minilm-uncased-squad2`."
    )
    window_tokens: int = Field(
        default=384, ge=32, le=512, description="Tokens of question and passage in a window."
    )
    stride_tokens: int = Field(default=128, ge=0, description="Tokens that two windows of a passage share.")
    answer_tokens: int = Field(default=30, ge=1, description="Tokens of the longest answer.")
    max_windows: int = Field(
        default=256, ge=1, description="Most windows of one request; the beginnings of passages come first."
    )
    temperature: float = Field(default=2.0, gt=0, description='Divides the margin over "no answer".')

    @model_validator(mode="after")
    def _windows_move_on(self) -> Self:
        if self.stride_tokens > self.window_tokens // 2:
            raise ValueError("stride_tokens: at most half of window_tokens")
        return self
