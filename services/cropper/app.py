"""The cropper service: regions worth a closer look."""

import numpy as np
from fastapi import FastAPI

from chassis.app import ServiceSpec, create_service
from services.cropper.engine import RGB, Cropper
from services.cropper.routes import router
from services.cropper.settings import CropperSettings


def create_app(settings: CropperSettings) -> FastAPI:
    """The service with the engine that the settings name."""
    spec = ServiceSpec(
        name="cropper",
        routers=[router],
        open_engine=open_engine,
        probe=lambda engine: engine.crop(_card_on_a_table(), [], 1),
    )
    app = create_service(spec, settings)
    app.state.settings = settings
    return app


def open_engine() -> Cropper:
    """The pocket engine; production engines join it here."""
    from services.cropper.engines.pocket import PocketCropper

    return PocketCropper()


def _card_on_a_table() -> RGB:
    """Something to find when readiness is asked."""
    picture = np.full((96, 128, 3), 60, np.uint8)
    picture[24:72, 32:96] = 220
    return picture
