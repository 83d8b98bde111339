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

    port: int = 7104
    engine: Engine = Engine.POCKET
    workers: int = Field(
        default=2, ge=1, description="builtin, pocket: a search need not wait for an indexing call"
    )
    data_dir: Path = Field(default=Path("var/text_search"), description="of the embedded store")
    disk_reserve_mib: int = Field(
        default=256,
        ge=8,
        description="kept free on the disk of the embedded store: with less nothing is indexed",
    )
    qdrant_url: str = Field(default="", description="a Qdrant server to use instead of the embedded store")
    bm25_k1: float = Field(default=1.2, ge=0)
    bm25_b: float = Field(default=0.6, ge=0, le=1)
    bm25_average_length: float = Field(default=160.0, gt=0, description="terms in a passage and its title")
    title_weight: float = Field(default=2.0, ge=0)
    hybrid: bool = Field(default=True, description="BM25 beside the dense vectors")
    fusion_depth: int = Field(default=50, ge=1, description="passages of each that are fused at least")
    pooling: Pooling = Pooling.CLS
    query_instruction: str = BGE_QUERY_INSTRUCTION
    passage_instruction: str = ""
    max_tokens: int = Field(default=512, ge=8, description="longer passages are cut")
    remote_path: str = Field(default="/v1/embeddings", description="engine=remote: /embeddings for Infinity")
    remote_format: VectorFormat = Field(default=VectorFormat.FLOAT, description="engine=remote")
    web_provider: Provider = Field(default=Provider.SEARXNG, description="engine=web")
    web_url: str = Field(
        default="", pattern="^(https?://.+)?$", description="engine=web: the search API; SearXNG needs one"
    )
    web_key: SecretStr = Field(default=SecretStr(""), description="engine=web: the API key; Brave, Tavily")
    web_pages: int = Field(default=5, ge=0, le=20, description="engine=web: pages that a call reads")
    web_keep_s: float = Field(default=3600.0, ge=0, description="engine=web: seconds that pages are cached")
    web_per_minute: int = Field(default=60, ge=1, description="engine=web: requests to the search API")
    web_robots: bool = Field(default=True, description="engine=web: respect robots.txt")
