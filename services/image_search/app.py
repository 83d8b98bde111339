"""The image_search service: which known thing is in the photo."""

from fastapi import FastAPI

from chassis.app import ServiceSpec, create_service
from chassis.vectors.port import VectorStore
from chassis.vectors.routes import collections_router
from services.image_search.engine import ImageSearchEngine
from services.image_search.routes import router
from services.image_search.settings import ImageSearchSettings


def create_app(settings: ImageSearchSettings) -> FastAPI:
    """The service with the engine and the store that the settings name."""
    spec = ServiceSpec(
        name="image_search",
        routers=[router, collections_router()],
        open_engine=lambda: open_engine(settings),
        probe=lambda engine: engine.probe(),
        close_engine=lambda engine: engine.store.close(),
    )
    app = create_service(spec, settings)
    app.state.settings = settings
    return app


def open_engine(settings: ImageSearchSettings) -> ImageSearchEngine:
    """The pocket engine; production engines join it here."""
    from services.image_search.engines.pocket import PocketImageSearch, PocketOptions, SearchEffort

    effort = SearchEffort(glances=settings.glances, verifications=settings.verifications)
    store = open_store(settings)
    return PocketImageSearch(store, settings.data_dir / "features", PocketOptions(effort=effort))


def open_store(settings: ImageSearchSettings) -> VectorStore:
    """A Qdrant server where one is named, else the embedded store."""
    if settings.qdrant_url:
        from qdrant_client import QdrantClient

        from chassis.vectors.server import ServerStore

        return ServerStore(QdrantClient(url=settings.qdrant_url))
    from chassis.vectors.edge import EdgeStore

    return EdgeStore(settings.data_dir)
