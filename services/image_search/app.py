"""The image_search service: which known thing is in the photo."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from chassis.http.app import EngineResources, ServiceSpec, create_service
from chassis.vectors.port import VectorStore
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
    from services.image_search.engines.crag_mm import CragMmImageSearch
    from services.image_search.engines.dense import (
        DenseImageSearch,
        DenseOptions,
        Forward,
        ForwardTexts,
        ImageEncoder,
    )


def create_app(settings: ImageSearchSettings) -> FastAPI:
    """Return the service with the engine and the store that the settings name."""
    spec: ServiceSpec[Any] = ServiceSpec(
        name="image_search",
        routers=[router],
        open_engine=partial(open_engine, settings),
        takes=("image", "text") if settings.takes_texts else ("image",),
    )
    if settings.engine is not Engine.CRAG_MM:
        spec = replace(
            spec,
            routers=[router, collections_router],
            write_routers=[write_router, indexing_router, documents_router],
            probe=probe_index,
        )
    return create_service(spec, settings)


def open_engine(settings: ImageSearchSettings, resources: EngineResources) -> ImageSearchEngine:
    """Return the engine that the settings name. Raises `CannotStart` if its model or index cannot be used."""
    match settings.engine:
        case Engine.BUILTIN:
            from services.image_search.engines.builtin import BuiltinImageSearch

            store = _open_store(settings, resources)
            return BuiltinImageSearch(store, settings.data_dir / "features")
        case Engine.CLIP:
            return _open_index(settings, resources, *_open_clip(settings, resources))
        case Engine.REMOTE:
            return _open_index(settings, resources, *_open_remote(settings, resources))
        case Engine.CRAG_MM:
            return _open_crag_mm(settings, resources)


def _open_store(settings: ImageSearchSettings, resources: EngineResources) -> VectorStore:
    store = settings.open_store()
    resources.on_close(store.close)
    resources.metrics.ingested("photos", 0)  # so that the first ones are seen as an increase
    watch_published(resources.metrics, store)
    return store


def _open_index(
    settings: ImageSearchSettings,
    resources: EngineResources,
    encoder: "ImageEncoder",
    forward: "Forward",
    texts: "ForwardTexts | None",
) -> "DenseImageSearch":
    from services.image_search.engines.dense import DenseImageSearch

    store = _open_store(settings, resources)
    return DenseImageSearch(store, encoder, _dense_options(settings), forward, texts)


def _open_crag_mm(settings: ImageSearchSettings, resources: EngineResources) -> "CragMmImageSearch":
    from chassis.vectors.chroma import ChromaIndex
    from services.image_search.engines.crag_mm import COLLECTION, CragMmImageSearch

    encoder, forward, texts = _open_clip(settings, resources)
    index = ChromaIndex(settings.index_dir, COLLECTION, encoder.size)
    return CragMmImageSearch(index, encoder, _dense_options(settings), forward, texts)


def _open_clip(
    settings: ImageSearchSettings, resources: EngineResources
) -> "tuple[ImageEncoder, Forward, ForwardTexts | None]":
    """Return the encoder, with forward passes that the calls share."""
    from services.image_search.engines.clip import ClipEncoder

    accelerator = resources.open_accelerator(settings.placement)
    encoder = ClipEncoder(settings.model, accelerator, texts=settings.takes_texts)
    forward = resources.batch(encoder.forward, settings.batch_limits, "clip")
    texts = None
    if settings.takes_texts:
        texts = resources.batch(encoder.forward_texts, settings.batch_limits, "clip_text")
    return encoder, forward, texts


def _open_remote(
    settings: ImageSearchSettings, resources: EngineResources
) -> "tuple[ImageEncoder, Forward, ForwardTexts | None]":
    from services.image_search.engines.remote import RemoteImageEncoder, RemoteOptions

    server = settings.open_remote("image_search")
    resources.on_close(server.close)
    options = RemoteOptions(settings.remote_shape, settings.remote_images, settings.remote_input_type)
    encoder = RemoteImageEncoder(server, options)
    return encoder, encoder.forward, encoder.forward_texts if settings.takes_texts else None


def _dense_options(settings: ImageSearchSettings) -> "DenseOptions":
    from services.image_search.engines.dense import DenseOptions

    return DenseOptions(settings.midpoint, settings.slope, settings.text_midpoint)
