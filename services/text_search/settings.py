"""Settings of text_search, from `LOREGLASS_TEXT_SEARCH_*`."""

from enum import StrEnum
from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import RemoteModelSettings
from services.text_search.encoding import BGE_QUERY_INSTRUCTION, Pooling, VectorFormat


class Engine(StrEnum):
    """BM25 beside the sentence encoder that came with the platform (`builtin`), one of your choice in this
    process (`bge`), or one on a ready-made server (`remote`); `pocket` is BM25 alone.
    """

    BUILTIN = "builtin"
    POCKET = "pocket"
    BGE = "bge"
    REMOTE = "remote"


class TextSearchSettings(RemoteModelSettings):
    """Where the vectors are, the parameters of BM25, and how the encoder is used."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_TEXT_SEARCH_")

    port: int = Field(default=7104, description="Port to listen on.")
    engine: Engine = Field(default=Engine.POCKET, description="`builtin`, `pocket`, `bge` or `remote`.")
    workers: int = Field(default=2, ge=1, description="Calls that run at once in the `builtin` engine.")
    data_dir: Path = Field(default=Path("var/text_search"), description="Folder of the embedded store.")
    disk_reserve_mib: int = Field(
        default=256,
        ge=8,
        description="MiB to keep free on the disk of the embedded store. With less, nothing is indexed.",
    )
    qdrant_url: str = Field(default="", description="A Qdrant server to use instead of the embedded store.")
    bm25_k1: float = Field(default=1.2, ge=0, description="BM25's k1.")
    bm25_b: float = Field(default=0.6, ge=0, le=1, description="BM25's b.")
    bm25_average_length: float = Field(
        default=160.0, gt=0, description="BM25's average length: terms of a passage and its title."
    )
    title_weight: float = Field(default=2.0, ge=0, description="Weight of the title's terms.")
    hybrid: bool = Field(default=True, description="Use BM25 beside the dense vectors.")
    fusion_depth: int = Field(
        default=50, ge=1, description="Passages of each ranking that are fused, at least."
    )
    pooling: Pooling = Field(
        default=Pooling.CLS, description="How token vectors become one: the model's own way."
    )
    query_instruction: str = Field(default=BGE_QUERY_INSTRUCTION, description="Text before a query.")
    passage_instruction: str = Field(default="", description="Text before a passage.")
    max_tokens: int = Field(default=512, ge=8, description="Longer passages are cut.")
    remote_path: str = Field(
        default="/v1/embeddings", description="`remote`: path of the route. Infinity: `/embeddings`."
    )
    remote_format: VectorFormat = Field(
        default=VectorFormat.FLOAT, description="`remote`: number format of the vectors."
    )
