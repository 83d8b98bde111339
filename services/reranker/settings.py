"""Settings of the reranker, from `LOREGLASS_RERANKER_*`."""

from typing import Self

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from chassis.settings import EngineName, RemoteModelSettings
from services.reranker.engines.remote import RemoteShape


class Engine(EngineName):
    """Engines that score passages."""

    BUILTIN = "builtin"
    CASCADE = "cascade"
    REMOTE = "remote"


class RerankerSettings(RemoteModelSettings):
    """The cascade's models, cut-offs and switches, and the shape of a remote server."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_RERANKER_")

    port: int = Field(default=7105, description="Port to listen on.")
    engine: Engine = Field(default=Engine.BUILTIN, description="`cascade` is for a GPU.")
    max_side: int = Field(
        default=672, ge=64, description="Longest side of a photo in pixels. Larger photos are scaled down."
    )

    coarse: bool = Field(default=True, description="`cascade`: use the Q-Former as a filter.")
    coarse_model: str = Field(
        default="", description="A folder or Hugging Face id. Empty: `Salesforce/blip2-itm-vit-g`."
    )
    coarse_head: str = Field(
        default="", description="The head that `loreglass train head coarse-reranker` wrote."
    )
    coarse_top: int = Field(default=32, ge=1, description="K1: best passages that reach the fine stage.")
    coarse_threshold: float | None = Field(
        default=None, ge=0, le=1, description="tau_coarse, a cosine. Unset: the head's own."
    )
    fine: bool = Field(default=True, description="`cascade`: use Qwen3-Reranker.")
    fine_model: str = Field(
        default="", description="A folder or Hugging Face id. Empty: `Qwen/Qwen3-Reranker-0.6B`."
    )
    fine_top: int = Field(default=10, ge=1, description="K2: best passages that keep their score.")
    fine_threshold: float = Field(default=0.5, ge=0, le=1, description="tau_fine, a probability.")

    remote_shape: RemoteShape = Field(
        default=RemoteShape.COHERE,
        description="`remote`: the server's API. `vllm`: a model that sees photos.",
    )
    remote_batch: int = Field(default=32, ge=1, description="`remote`: passages in one request to TEI.")

    @property
    def sees_photos(self) -> bool:
        """True if the engine uses photos."""
        if self.engine is Engine.REMOTE:
            return self.remote_shape is RemoteShape.VLLM
        return self.engine is Engine.CASCADE and self.coarse

    @model_validator(mode="after")
    def _the_cascade_is_whole(self) -> Self:
        if self.engine is Engine.CASCADE and not (self.coarse or self.fine):
            raise ValueError("engine=cascade needs coarse, fine or both")
        if self.model:
            raise ValueError("the reranker has two models: set coarse_model and fine_model")
        return self
