"""The text_search service: which passages speak of what is asked."""

from fastapi import FastAPI

from chassis.app import ServiceSpec, create_service
from chassis.vectors.port import VectorStore
from chassis.vectors.routes import collections_router
from services.text_search.engine import TextSearchEngine
from services.text_search.routes import router
from services.text_search.settings import TextSearchSettings


def create_app(settings: TextSearchSettings) -> FastAPI:
    """The service with the engine and the store that the settings name."""
    spec = ServiceSpec(
        name="text_search",
        routers=[router, collections_router()],
        open_engine=lambda: open_engine(settings),
        probe=lambda engine: engine.probe(),
        close_engine=lambda engine: engine.store.close(),
    )
    return create_service(spec, settings)


def open_engine(settings: TextSearchSettings) -> TextSearchEngine:
    """The pocket engine; production engines join it here."""
    from services.text_search.engines.pocket import Bm25, PocketTextSearch

    bm25 = Bm25(
        k1=settings.bm25_k1,
        b=settings.bm25_b,
        average_length=settings.bm25_average_length,
        title_weight=settings.title_weight,
    )
    return PocketTextSearch(open_store(settings), bm25)


def open_store(settings: TextSearchSettings) -> VectorStore:
    """A Qdrant server where one is named, else the embedded store."""
    if settings.qdrant_url:
        from qdrant_client import QdrantClient

        from chassis.vectors.server import ServerStore

        return ServerStore(QdrantClient(url=settings.qdrant_url))
    from chassis.vectors.edge import EdgeStore

    return EdgeStore(settings.data_dir)
