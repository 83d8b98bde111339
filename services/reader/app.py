"""The reader service: which words of the passages answer the question."""

from functools import partial

from fastapi import FastAPI

from chassis.http.app import EngineResources, ServiceSpec, create_service
from services.reader.engine import Reader
from services.reader.routes import router
from services.reader.settings import Engine, ReaderSettings


def create_app(settings: ReaderSettings) -> FastAPI:
    """Return the service with the engine that the settings name."""
    spec = ServiceSpec(
        name="reader",
        routers=[router],
        open_engine=partial(open_engine, settings),
    )
    return create_service(spec, settings)


def open_engine(settings: ReaderSettings, resources: EngineResources) -> Reader:
    """Return the engine that the settings name. Raises one clear sentence when its model cannot be used."""
    match settings.engine:
        case Engine.BUILTIN:
            from services.reader.engines.builtin import open_builtin

            return open_builtin()
        case Engine.EXTRACTIVE:
            return _open_extractive(settings, resources)


def _open_extractive(settings: ReaderSettings, resources: EngineResources) -> Reader:
    from chassis.models.encoders import shared_cross_encoder
    from services.reader.engines.clauses import find_clauses
    from services.reader.engines.extractive import ExtractiveReader, ReadingOptions
    from services.reader.engines.features import uncalibrated
    from services.reader.engines.windows import DEFAULT_MODEL, QuestionAnsweringModel

    accelerator = resources.open_accelerator(settings.placement)
    model = QuestionAnsweringModel.from_pretrained(settings.model or DEFAULT_MODEL, accelerator)
    forward = resources.batch(model.forward, settings.batch_limits, "windows")
    options = ReadingOptions(curve=uncalibrated(settings.temperature))
    return ExtractiveReader(model, forward, options, partial(find_clauses, shared_cross_encoder()))
