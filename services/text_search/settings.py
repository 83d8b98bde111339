"""Settings of text_search, from `LOREGLASS_TEXT_SEARCH_*`."""

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from chassis.settings import EngineName
from chassis.vectors.settings import IndexSettings
from services.text_search.engine import BGE_INSTRUCTIONS, SEEING_INSTRUCTIONS, Instructions, Pooling, Provider
from services.text_search.engines.remote import RemoteShape


class Engine(EngineName):
    """`bm25`: BM25 alone. `builtin`, `bge`, `remote`: BM25 beside the sentence encoder that came with the
    platform, one of your choice in this process, or one on a ready-made server. `web` has no index: it asks a
    search API and reads the pages. `crag-mm`: CRAG-MM's published index as it is.
    """

    BM25 = "bm25"
    BUILTIN = "builtin"
    BGE = "bge"
    REMOTE = "remote"
    WEB = "web"
    CRAG_MM = "crag-mm"


class TextSearchSettings(IndexSettings):
    """Where the vectors are, how the encoder is used, and how the web is searched."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_TEXT_SEARCH_")

    port: int = Field(default=7104, description="Port to listen on.")
    engine: Engine = Field(default=Engine.BM25, description="How passages are found.")
    workers: int = Field(
        default=2, ge=1, description="Calls that run at once in the `bm25` and `builtin` engines."
    )
    data_dir: Path = Field(default=Path("var/text_search"), description="Folder of the embedded store.")
    pages_dir: Path | None = Field(
        default=None, description="`crag-mm`: a copy of the published store of pages, if there is one."
    )
    hybrid: bool = Field(default=True, description="Use BM25 beside the dense vectors.")
    pooling: Pooling = Field(
        default=Pooling.CLS, description="How token vectors become one: the model's own way."
    )
    query_instruction: str | None = Field(
        default=None,
        description="Text before a query. Unset: as bge-*-en-v1.5 or Qwen3-VL-Embedding wants it.",
    )
    passage_instruction: str | None = Field(default=None, description="The same before a passage.")
    max_tokens: int = Field(default=512, ge=8, description="Longer passages are cut.")
    remote_path: str = Field(
        default="/v1/embeddings", description="`remote`: path of the route. Infinity: `/embeddings`."
    )
    remote_shape: RemoteShape = Field(
        default=RemoteShape.OPENAI,
        description="`remote`: the server's API. `vllm`: a model on vLLM that sees photos.",
    )
    max_side: int = Field(
        default=672, ge=64, description="Longest side of a photo in pixels. Larger photos are scaled down."
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

    @property
    def sees_photos(self) -> bool:
        """True if the engine uses photos."""
        return self.engine is Engine.REMOTE and self.remote_shape is RemoteShape.VLLM

    @property
    def instructions(self) -> Instructions:
        """The texts before queries and passages."""
        usual = SEEING_INSTRUCTIONS if self.sees_photos else BGE_INSTRUCTIONS
        query, passage = self.query_instruction, self.passage_instruction
        return Instructions(
            usual.query if query is None else query, usual.passage if passage is None else passage
        )
