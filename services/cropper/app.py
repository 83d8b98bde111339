"""The cropper service: regions worth a closer look."""

from functools import partial

import numpy as np
from fastapi import FastAPI

from chassis.http.app import EngineResources, ServiceSpec, create_service
from services.cropper.engine import RGB, Cropper
from services.cropper.routes import router
from services.cropper.settings import CropperSettings, Engine

PROBE_LABELS = ["card"]


def create_app(settings: CropperSettings) -> FastAPI:
    """The service with the engine that the settings name."""
    spec = ServiceSpec(
        name="cropper",
        routers=[router],
        open_engine=partial(open_engine, settings),
        probe=lambda engine: engine.crop(_card_on_a_table(), PROBE_LABELS, 1),
    )
    app = create_service(spec, settings)
    app.state.settings = settings
    return app


def open_engine(settings: CropperSettings, resources: EngineResources) -> Cropper:
    """The engine that the settings name, with its weights loaded."""
    if settings.engine is Engine.GROUNDING_DINO:
        return _open_grounding_dino(settings, resources)
    from services.cropper.engines.pocket import PocketCropper

    return PocketCropper()


def _open_grounding_dino(settings: CropperSettings, resources: EngineResources) -> Cropper:
    from services.cropper.detector import DEFAULT_MODEL, GroundingDinoDetector
    from services.cropper.engines.grounding_dino import DetectionOptions, GroundingDinoCropper

    accelerator = resources.open_accelerator(settings.placement)
    detector = GroundingDinoDetector.from_pretrained(settings.model or DEFAULT_MODEL, accelerator)
    options = DetectionOptions(
        group_size=settings.group_size,
        box_threshold=settings.box_threshold,
        text_threshold=settings.text_threshold,
        most_overlap=settings.most_overlap,
    )
    shared = resources.batched(detector.forward, settings.batch_limits, "detect")
    return GroundingDinoCropper(detector, shared, options)


def _card_on_a_table() -> RGB:
    """Something to find when readiness is asked."""
    picture = np.full((96, 128, 3), 60, np.uint8)
    picture[24:72, 32:96] = 220
    return picture
