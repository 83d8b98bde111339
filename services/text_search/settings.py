"""Settings of text_search, from `LOREGLASS_TEXT_SEARCH_*`."""

from enum import StrEnum
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from chassis.settings import RemoteModelSettings
from services.text_search.encoding import BGE_QUERY_INSTRUCTION, Pooling, VectorFormat
from services.text_search.web_providers import Provider


class Engine(StrEnum):
    """BM25 beside the sentence encoder that came with the platform (`builtin`), one of your choice in this
    process (`bge`), or one on a ready-made server (`remote`); `pocket` is BM25 alone. `web` has no index: it
    asks a search API and reads the pages.
    """

    BUILTIN = "builtin"
    POCKET = "pocket"
    BGE = "bge"
    REMOTE = "remote"
    WEB = "web"


class TextSearchSettings(RemoteModelSettings):
    """Where the vectors are, the parameters of BM25, how the encoder is used, and how the web is searched."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_TEXT_SEARCH_")

    port: int = Field(default=7104, description="Port to listen on.")
    engine: Engine = Field(
        default=Engine.POCKET, description="`builtin`, `pocket`, `bge`, `remote` or `web`."
    )
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
    web_provider: Provider = Field(default=Provider.SEARXNG, description="`web`: the search API.")
    web_url: str = Field(
        default="", pattern="^(https?://.+)?$", description="`web`: its address. SearXNG needs one."
    )
    web_key: SecretStr = Field(default=SecretStr(""), description="`web`: the API key of Brave or Tavily.")
    web_pages: int = Field(default=5, ge=0, le=20, description="`web`: pages that a call reads.")
    web_keep_s: float = Field(default=3600.0, ge=0, description="`web`: seconds that pages are cached.")
    web_per_minute: int = Field(default=60, ge=1, description="`web`: requests to the search API a minute.")
    web_robots: bool = Field(default=True, description="`web`: respect robots.txt.")
