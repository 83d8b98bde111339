"""Settings of image_search, from `LOREGLASS_IMAGE_SEARCH_*`."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from chassis.settings import EngineName
from chassis.vectors.settings import IndexSettings
from services.image_search.engines.remote import RemoteShape


class Engine(EngineName):
    """Engines that find known things. `crag-mm`: CRAG-MM's published index as it is, with its CLIP."""

    BUILTIN = "builtin"
    CLIP = "clip"
    REMOTE = "remote"
    CRAG_MM = "crag-mm"


class ImageSearchSettings(IndexSettings):
    """Where vectors and local features are, and which engine makes them."""

    model_config = SettingsConfigDict(env_prefix="LOREGLASS_IMAGE_SEARCH_")

    port: int = Field(default=7103, description="Port to listen on.")
    engine: Engine = Field(default=Engine.BUILTIN, description="What makes the vectors.")
    workers: int = Field(default=2, ge=1, description="Calls that run at once in the `builtin` engine.")
    data_dir: Path = Field(
        default=Path("var/image_search"), description="Folder of the embedded store and of local features."
    )
    thumbnails: bool = Field(
        default=False, description="Keep a thumbnail of each indexed photo, for the operator's page."
    )
    max_images: int = Field(default=16, ge=1, description="Photos in one search or indexing call.")
    max_side: int = Field(
        default=1600, ge=320, description="Longest side of a photo in pixels. Larger photos are scaled down."
    )
    midpoint: float = Field(
        default=0.75, ge=-1, le=1, description="All but `builtin`: the cosine with a probability of one half."
    )
    slope: float = Field(
        default=30.0, gt=0, description="All but `builtin`: slope of the probability over the cosine."
    )
    texts: bool | None = Field(default=None, description="Search by text too. Unset: only `remote` does not.")
    text_midpoint: float = Field(
        default=0.25, ge=-1, le=1, description="As `midpoint`, between text and photo."
    )
    remote_shape: RemoteShape = Field(default=RemoteShape.INFINITY, description="`remote`: the server's API.")
    remote_images: int = Field(default=16, ge=1, description="`remote`: most photos in one request.")
    remote_input_type: str = Field(default="", description="`remote`: Cohere's own service needs `image`.")

    @property
    def takes_texts(self) -> bool:
        """True if pictures can be searched by text."""
        usual = self.engine is not Engine.REMOTE
        return self.engine is not Engine.BUILTIN and (usual if self.texts is None else self.texts)
