"""Qdrant's own local mode, telling of what it has not: a graph, and how far the building of it is."""

from typing import Any

from qdrant_client import QdrantClient, models

GREEN, YELLOW, GREY, RED = (
    models.CollectionStatus.GREEN,
    models.CollectionStatus.YELLOW,
    models.CollectionStatus.GREY,
    models.CollectionStatus.RED,
)


class GraphServer(QdrantClient):
    """Graphs take `looks` looks to build, all of them together, unless building is said to `stall`."""

    def __init__(self, looks: int = 1) -> None:
        super().__init__(":memory:")
        self.looks = looks
        self.links: dict[str, int] = {}
        self.quantised: dict[str, Any] = {}
        self.stalled: models.CollectionStatus | None = None

    def stall(self, status: models.CollectionStatus) -> None:
        """Grey after a restart, until an update; red for good."""
        self.stalled = status

    def create_collection(self, collection_name: str, **made: Any) -> bool:  # type: ignore[override]
        self.links[collection_name] = made["hnsw_config"].m
        self.quantised = {name: each.quantization_config for name, each in made["vectors_config"].items()}
        return super().create_collection(collection_name, **made)

    def update_collection(self, collection_name: str, **changed: Any) -> bool:  # type: ignore[override]
        if "hnsw_config" in changed:
            self.links[collection_name] = changed.pop("hnsw_config").m
        if changed.pop("optimizers_config", None) is not None and self.stalled is GREY:
            self.stalled = None
        return super().update_collection(collection_name, **changed) if changed else True

    def get_collection(self, collection_name: str, **kwargs: Any) -> models.CollectionInfo:
        info = super().get_collection(collection_name, **kwargs)
        info.config.hnsw_config.m = self.links[collection_name]
        if self.links[collection_name] and self.looks:
            info.status = self.stalled or YELLOW
            self.looks -= self.stalled is None
        return info

    def scroll(self, collection_name: str, **page: Any) -> Any:  # type: ignore[override]
        """A server refuses a page of no points."""
        assert page["limit"] >= 1
        return super().scroll(collection_name, **page)
