"""Settings of text_search, from `LOREGLASS_TEXT_SEARCH_*`."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import ServiceSettings


class TextSearchSettings(ServiceSettings):
    """Where the vectors are, and the parameters of BM25."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_TEXT_SEARCH_")

    port: int = 7104
    workers: int = Field(default=2, ge=1, description="a search need not wait for an indexing call")
    data_dir: Path = Field(default=Path("var/text_search"), description="of the embedded store")
    qdrant_url: str = Field(default="", description="a Qdrant server to use instead of the embedded store")
    bm25_k1: float = Field(default=1.2, ge=0)
    bm25_b: float = Field(default=0.6, ge=0, le=1)
    bm25_average_length: float = Field(default=160.0, gt=0, description="terms in a passage and its title")
    title_weight: float = Field(default=2.0, ge=0)
