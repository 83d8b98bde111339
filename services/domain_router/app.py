"""The domain_router service: which CRAG-MM domain a question is in."""

from functools import partial
from pathlib import Path

from fastapi import FastAPI

from chassis.http.app import EngineResources, ServiceSpec, create_service
from chassis.startup import WrongSettings
from contracts.domain_router import Domain
from services.domain_router.engine import DomainRouter
from services.domain_router.routes import router
from services.domain_router.settings import DomainRouterSettings, Engine


def create_app(settings: DomainRouterSettings) -> FastAPI:
    """Return the service with the engine that the settings name."""
    spec = ServiceSpec(
        name="domain_router",
        routers=[router],
        open_engine=partial(open_engine, settings),
    )
    return create_service(spec, settings)


def open_engine(settings: DomainRouterSettings, resources: EngineResources) -> DomainRouter:
    """Return the engine that the settings name. Raises `CannotStart` when it cannot be had."""
    match settings.engine:
        case Engine.BUILTIN:
            from services.domain_router.engines.builtin import BuiltinDomainRouter

            return BuiltinDomainRouter()
        case Engine.BLIP2:
            return _open_blip2(settings, resources)


def _open_blip2(settings: DomainRouterSettings, resources: EngineResources) -> DomainRouter:
    if not settings.head:
        raise WrongSettings(
            "domain_router: engine=blip2 needs head, which `loreglass train head domain-router` writes."
        )
    from services.domain_router.engines.blip2 import Blip2DomainRouter, load_blip2

    accelerator = resources.open_accelerator(settings.placement)
    labels = [domain.value for domain in Domain]
    qformer, head = load_blip2(Path(settings.head), labels, settings.model, accelerator)
    forward = resources.batch(qformer.encode_questions, settings.batch_limits, "questions")
    return Blip2DomainRouter(forward, head)
