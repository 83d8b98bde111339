"""The verifier service: is the answer supported by the evidence."""

from fastapi import FastAPI

from chassis.app import ServiceSpec, create_service
from services.verifier.engine import Verifier
from services.verifier.routes import router
from services.verifier.settings import VerifierSettings


def create_app(settings: VerifierSettings) -> FastAPI:
    """The service with the engine that the settings name."""
    spec = ServiceSpec(
        name="verifier",
        routers=[router],
        open_engine=open_engine,
        probe=lambda engine: engine.verify("Who wrote it?", "Ada did.", ["It was written by Ada."], None),
    )
    app = create_service(spec, settings)
    app.state.supported_from = settings.supported_from
    return app


def open_engine() -> Verifier:
    """The pocket engine; production engines join it here."""
    from services.verifier.engines.pocket import PocketVerifier

    return PocketVerifier()
