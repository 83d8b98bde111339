"""The cropper service: regions worth a closer look."""

from functools import partial

from fastapi import FastAPI

from chassis.http.app import EngineResources, ServiceSpec, create_service
from services.cropper.engine import Cropper
from services.cropper.routes import router
from services.cropper.settings import CropperSettings, Engine


def create_app(settings: CropperSettings) -> FastAPI:
    """Return the service with the engine that the settings name."""
    spec = ServiceSpec(
        name="cropper",
        routers=[router],
        open_engine=partial(open_engine, settings),
    )
    return create_service(spec, settings)


def open_engine(settings: CropperSettings, resources: EngineResources) -> Cropper:
    """Return the engine that the settings name, with its weights loaded."""
    match settings.engine:
        case Engine.BUILTIN:
            from services.cropper.engines.builtin import BuiltinCropper

            return BuiltinCropper()
        case Engine.GROUNDING_DINO:
            return _open_grounding_dino(settings, resources)


def _open_grounding_dino(settings: CropperSettings, resources: EngineResources) -> Cropper:
    from services.cropper.engines.detector import DEFAULT_MODEL, GroundingDinoDetector
    from services.cropper.engines.grounding_dino import GroundingDinoCropper

    accelerator = resources.open_accelerator(settings.placement)
    detector = GroundingDinoDetector.from_pretrained(settings.model or DEFAULT_MODEL, accelerator)
    shared = resources.batch(detector.forward, settings.batch_limits, "detect")
    return GroundingDinoCropper(detector, shared)
