"""The verifier service: is the answer supported by the evidence."""

from functools import partial

from fastapi import FastAPI

from chassis.http.app import EngineResources, ServiceSpec, create_service
from services.verifier.engine import ModelSignals, Verifier
from services.verifier.routes import router
from services.verifier.settings import Engine, VerifierSettings

_SURE = ModelSignals(token_probabilities=(0.98, 0.99), judgement=0.9)


def create_app(settings: VerifierSettings) -> FastAPI:
    """The service with the engine that the settings name."""
    spec = ServiceSpec(
        name="verifier",
        routers=[router],
        open_engine=partial(open_engine, settings),
        probe=lambda engine: engine.verify(
            "Who wrote it?", "Ada did.", ["It was written by Ada."], None, _SURE
        ),
    )
    return create_service(spec, settings)


def open_engine(settings: VerifierSettings, _: EngineResources) -> Verifier:
    """The engine that the settings name; the built-in one is the other one's fallback."""
    from services.verifier.engines.builtin import BuiltinVerifier

    builtin = BuiltinVerifier()
    match settings.engine:
        case Engine.BUILTIN:
            return builtin
        case Engine.WHITE_BOX:
            from services.verifier.engines.certainty import WhiteBoxVerifier

            return WhiteBoxVerifier(builtin)
