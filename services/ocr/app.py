"""The ocr service: the text lines of a photo."""

from functools import partial

import numpy as np
from fastapi import FastAPI
from PIL import Image, ImageDraw

from chassis.http.app import EngineResources, ServiceSpec, create_service
from chassis.rgb import RGB
from chassis.telemetry.metrics import Metrics
from services.ocr.engine import OcrEngine
from services.ocr.routes import PhotoReader, router
from services.ocr.settings import OcrSettings


def create_app(settings: OcrSettings) -> FastAPI:
    """The service with the engine that the settings name."""
    spec = ServiceSpec(
        name="ocr",
        routers=[router],
        open_engine=partial(open_engine, settings),
        probe=lambda engine: engine.read(_picture_with_text()),
    )
    app = create_service(spec, settings)
    metrics: Metrics = app.state.metrics
    app.state.reader = PhotoReader(settings.max_side, settings.cache_entries, metrics.lookups("replies"))
    return app


def open_engine(settings: OcrSettings, resources: EngineResources) -> OcrEngine:
    """Return the built-in engine."""
    from services.ocr.engines.builtin import BuiltinOcr

    return BuiltinOcr(settings.detection_side, settings.threads, settings.workers)


def _picture_with_text() -> RGB:
    """Something for every model of an engine to do when readiness is asked."""
    picture = Image.new("RGB", (128, 64), "white")
    ImageDraw.Draw(picture).text((16, 16), "ready", fill="black", font_size=28)
    return np.asarray(picture)
