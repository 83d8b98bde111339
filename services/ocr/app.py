"""The ocr service: the text lines of a photo."""

from functools import partial

from fastapi import FastAPI

from chassis.http.app import EngineResources, ServiceSpec, create_service
from chassis.telemetry.metrics import Metrics
from services.ocr.engine import OcrEngine
from services.ocr.routes import PhotoReader, router
from services.ocr.settings import Engine, OcrSettings


def create_app(settings: OcrSettings) -> FastAPI:
    """Return the service with the engine that the settings name."""
    spec = ServiceSpec(
        name="ocr",
        routers=[router],
        open_engine=partial(open_engine, settings),
    )
    app = create_service(spec, settings)
    metrics: Metrics = app.state.metrics
    app.state.reader = PhotoReader(settings.max_side, settings.cache_entries, metrics.lookups("replies"))
    return app


def open_engine(settings: OcrSettings, _: EngineResources) -> OcrEngine:
    """Return the engine that the settings name."""
    match settings.engine:
        case Engine.BUILTIN:
            from services.ocr.engines.builtin import BuiltinOcr

            return BuiltinOcr(settings.detection_side, settings.threads, settings.workers)
