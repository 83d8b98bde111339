"""Settings of services with an index."""

from pathlib import Path

from pydantic import Field

from chassis.resilience.room import MIB, Room
from chassis.settings import RemoteModelSettings
from chassis.vectors.port import VectorStore


class IndexSettings(RemoteModelSettings):
    """Where the vectors are."""

    data_dir: Path = Field(default=Path("var"), description="Folder of the embedded store.")
    disk_reserve_mib: int = Field(
        default=256,
        ge=8,
        description="MiB to keep free on the disk of the embedded store. With less, nothing is indexed.",
    )
    index_dir: Path = Field(
        default=Path(), description="`crag-mm`: a copy of the published index, which is searched as it is."
    )
    qdrant_url: str = Field(default="", description="A Qdrant server to use instead of the embedded store.")

    def open_store(self) -> VectorStore:
        """Return a Qdrant server's store if one is named, else the embedded store."""
        if self.qdrant_url:
            from chassis.vectors.server import ServerStore

            return ServerStore.at(self.qdrant_url)
        from chassis.vectors.edge import EdgeStore

        return EdgeStore(self.data_dir, Room(self.data_dir, self.disk_reserve_mib * MIB))
