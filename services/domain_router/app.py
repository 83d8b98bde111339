"""The domain_router service: which CRAG-MM domain a question is in."""

from fastapi import FastAPI

from chassis.app import ServiceSpec, create_service
from services.domain_router.engine import DomainRouter
from services.domain_router.routes import router
from services.domain_router.settings import DomainRouterSettings


def create_app(settings: DomainRouterSettings) -> FastAPI:
    """The service with the engine that the settings name."""
    spec = ServiceSpec(
        name="domain_router",
        routers=[router],
        open_engine=open_engine,
        probe=lambda engine: engine.classify("Who wrote this book?", "", None),
    )
    return create_service(spec, settings)


def open_engine() -> DomainRouter:
    """The pocket engine; production engines join it here."""
    from services.domain_router.engines.pocket import PocketDomainRouter

    return PocketDomainRouter()
