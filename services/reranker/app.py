"""The reranker service: which passages answer the question."""

from fastapi import FastAPI

from chassis.app import ServiceSpec, create_service
from services.reranker.engine import Reranker
from services.reranker.routes import router
from services.reranker.settings import RerankerSettings


def create_app(settings: RerankerSettings) -> FastAPI:
    """The service with the engine that the settings name."""
    spec = ServiceSpec(
        name="reranker",
        routers=[router],
        open_engine=open_engine,
        probe=lambda engine: engine.rerank("Who wrote it?", ["It was written by Ada."], None),
    )
    return create_service(spec, settings)


def open_engine() -> Reranker:
    """The pocket engine; production engines join it here."""
    from services.reranker.engines.pocket import PocketReranker

    return PocketReranker()
