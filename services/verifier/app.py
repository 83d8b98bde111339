"""The verifier service: is the answer supported by the evidence."""

from functools import partial

from fastapi import FastAPI

from chassis.http.app import EngineResources, ServiceSpec, create_service
from services.verifier.engine import Verifier
from services.verifier.routes import router
from services.verifier.settings import Engine, VerifierSettings


def create_app(settings: VerifierSettings) -> FastAPI:
    """Return the service with the engine that the settings name."""
    spec = ServiceSpec(
        name="verifier",
        routers=[router],
        open_engine=partial(open_engine, settings),
    )
    return create_service(spec, settings)


def open_engine(settings: VerifierSettings, _: EngineResources) -> Verifier:
    """Return the engine that the settings name; the built-in one is the other one's fallback."""
    from services.verifier.engines.builtin import BuiltinVerifier

    builtin = BuiltinVerifier()
    match settings.engine:
        case Engine.BUILTIN:
            return builtin
        case Engine.WHITE_BOX:
            from services.verifier.engines.certainty import WhiteBoxVerifier

            return WhiteBoxVerifier(builtin)
