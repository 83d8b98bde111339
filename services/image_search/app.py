"""The image_search service: which known thing is in the photo."""

from functools import partial
from typing import TYPE_CHECKING

from fastapi import FastAPI

from chassis.http.app import EngineResources, ServiceSpec, create_service
from chassis.vectors.routes import (
    collections_router,
    documents_router,
    indexing_router,
    probe_index,
    watch_published,
)
from services.image_search.engine import ImageSearchEngine
from services.image_search.routes import router, write_router
from services.image_search.settings import Engine, ImageSearchSettings

if TYPE_CHECKING:
    from services.image_search.engines.clip import ClipEncoder
    from services.image_search.engines.crag_mm import CragMmImageSearch
    from services.image_search.engines.dense import DenseOptions, Forward, ForwardTexts


def create_app(settings: ImageSearchSettings) -> FastAPI:
    """The service with the engine and the store that the settings name."""
    takes = ("image", "text") if settings.takes_texts else ("image",)
    if settings.engine is Engine.CRAG_MM:
        published = ServiceSpec(
            name="image_search",
            routers=[router],
            open_engine=partial(_open_crag_mm, settings),
            probe=lambda engine: engine.probe(),
            takes=takes,
        )
        return create_service(published, settings)
    spec = ServiceSpec(
        name="image_search",
        routers=[router, collections_router],
        write_routers=[write_router, indexing_router, documents_router],
        open_engine=partial(open_engine, settings),
        probe=probe_index,
        close_engine=lambda engine: engine.store.close(),
        takes=takes,
    )
    return create_service(spec, settings)


def open_engine(settings: ImageSearchSettings, resources: EngineResources) -> ImageSearchEngine:
    """The engine that the settings name. Each imports what it needs when it is chosen."""
    openers = {Engine.BUILTIN: _open_builtin, Engine.CLIP: _open_clip, Engine.REMOTE: _open_remote}
    engine = openers[settings.engine](settings, resources)
    resources.metrics.ingested("photos", 0)  # so that the first ones are seen as an increase
    watch_published(resources.metrics, engine.store)
    return engine


def _open_builtin(settings: ImageSearchSettings, _: EngineResources) -> ImageSearchEngine:
    from services.image_search.engines.builtin import BuiltinImageSearch

    return BuiltinImageSearch(settings.open_store(), settings.data_dir / "features")


def _open_clip(settings: ImageSearchSettings, resources: EngineResources) -> ImageSearchEngine:
    from services.image_search.engines.dense import DenseImageSearch

    encoder, forward, texts = _clip(settings, resources)
    return DenseImageSearch(settings.open_store(), encoder, _dense_options(settings), forward, texts)


def _open_crag_mm(settings: ImageSearchSettings, resources: EngineResources) -> "CragMmImageSearch":
    from chassis.vectors.chroma import ChromaIndex
    from services.image_search.engines.crag_mm import COLLECTION, CragMmImageSearch

    encoder, forward, texts = _clip(settings, resources)
    index = ChromaIndex(settings.index_dir, COLLECTION, encoder.size)
    return CragMmImageSearch(index, encoder, _dense_options(settings), forward, texts)


def _clip(
    settings: ImageSearchSettings, resources: EngineResources
) -> "tuple[ClipEncoder, Forward, ForwardTexts | None]":
    """Return the encoder, with forward passes that the calls share."""
    from services.image_search.engines.clip import ClipEncoder

    accelerator = resources.open_accelerator(settings.placement)
    encoder = ClipEncoder(settings.model, accelerator, texts=settings.takes_texts)
    forward = resources.batch(encoder.forward, settings.batch_limits, "clip")
    texts = None
    if settings.takes_texts:
        texts = resources.batch(encoder.forward_texts, settings.batch_limits, "clip_text")
    return encoder, forward, texts


def _open_remote(settings: ImageSearchSettings, resources: EngineResources) -> ImageSearchEngine:
    from services.image_search.engines.dense import DenseImageSearch
    from services.image_search.engines.remote import RemoteImageEncoder, RemoteOptions

    server = settings.open_remote("image_search")
    resources.on_close(server.close)
    options = RemoteOptions(settings.remote_shape, settings.remote_images, settings.remote_input_type)
    encoder = RemoteImageEncoder(server, options)
    texts = encoder.forward_texts if settings.takes_texts else None
    return DenseImageSearch(settings.open_store(), encoder, _dense_options(settings), forward_texts=texts)


def _dense_options(settings: ImageSearchSettings) -> "DenseOptions":
    from services.image_search.engines.dense import DenseOptions

    return DenseOptions(settings.midpoint, settings.slope, settings.text_midpoint)
