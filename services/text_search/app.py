"""The text_search service: passages about the subject of a query."""

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from chassis.http.app import EngineResources, ServiceSpec, create_service
from chassis.http.fetching import FetchLimits, PublicFetcher
from chassis.startup import WrongSettings
from chassis.vectors.port import RANK_CONSTANT
from chassis.vectors.routes import (
    collections_router,
    documents_router,
    indexing_router,
    probe_index,
    watch_published,
)
from services.text_search.engine import Pooling, Provider, TextEncoder, TextSearchEngine
from services.text_search.engines.remote import RemoteEncoder, RemoteOptions, RemoteSeeingEncoder
from services.text_search.routes import pages_router, router, write_router
from services.text_search.settings import Engine, TextSearchSettings

if TYPE_CHECKING:
    from services.text_search.engines.crag_mm import CragMmTextSearch
    from services.text_search.engines.indexed import IndexedTextSearch
    from services.text_search.engines.web import WebTextSearch

_PAGE_LIMITS = FetchLimits(max_bytes=8 * 2**20, seconds=8.0)

BUILTIN_RANK_CONSTANT = 1
"""Of SQuAD's answering paragraphs 97.8 % are among the first five; 96.5 % with 60."""


def create_app(settings: TextSearchSettings) -> FastAPI:
    """Return the service with the engine and the store that the settings name."""
    spec: ServiceSpec[Any] = ServiceSpec(
        name="text_search",
        routers=[router],
        open_engine=partial(open_engine, settings),
        takes=("text", "image") if settings.sees_photos else ("text",),
    )
    if settings.engine not in (Engine.WEB, Engine.CRAG_MM):
        spec = replace(
            spec,
            routers=[router, pages_router, collections_router],
            write_routers=[write_router, indexing_router, documents_router],
            probe=probe_index,
        )
    return create_service(spec, settings)


def open_engine(settings: TextSearchSettings, resources: EngineResources) -> TextSearchEngine:
    """Return the engine that the settings name. Raises `CannotStart` if its model or index cannot be used."""
    match settings.engine:
        case Engine.BM25:
            return _open_index(settings, resources, None)
        case Engine.BUILTIN:
            from chassis.models.encoders import shared_sentence_encoder

            return _open_index(settings, resources, shared_sentence_encoder(), BUILTIN_RANK_CONSTANT)
        case Engine.BGE:
            return _open_index(settings, resources, _open_bge(settings, resources))
        case Engine.REMOTE:
            return _open_index(settings, resources, _open_remote(settings, resources))
        case Engine.WEB:
            return _open_web(settings, resources)
        case Engine.CRAG_MM:
            return _open_crag_mm(settings, resources)


def _open_web(settings: TextSearchSettings, resources: EngineResources) -> "WebTextSearch":
    from services.text_search.engines.web import WebLimits, WebTextSearch
    from services.text_search.engines.web_providers import WebProvider

    if settings.web_provider is Provider.SEARXNG and not settings.web_url:
        raise WrongSettings("LOREGLASS_TEXT_SEARCH_WEB_URL: the address of your SearXNG is needed.")
    key = settings.web_key.get_secret_value()
    if settings.web_provider is not Provider.SEARXNG and not key:
        raise WrongSettings(f"LOREGLASS_TEXT_SEARCH_WEB_KEY: {settings.web_provider} needs a key.")
    provider = WebProvider(settings.web_provider, settings.web_url, key)
    fetcher = PublicFetcher(_PAGE_LIMITS, accept="text/html,application/pdf,text/plain;q=0.5")
    limits = WebLimits(settings.web_pages, settings.web_keep_s, settings.web_per_minute, settings.web_robots)
    engine = WebTextSearch(provider, fetcher, limits, time.monotonic)
    resources.on_close(engine.close)
    return engine


def _open_crag_mm(settings: TextSearchSettings, resources: EngineResources) -> "CragMmTextSearch":
    from chassis.vectors.chroma import ChromaIndex
    from services.text_search.engines.crag_mm import COLLECTION, CragMmTextSearch, PageContents

    as_published = {"pooling": Pooling.MEAN, "query_instruction": "", "passage_instruction": ""}
    encoder = _open_bge(settings.model_copy(update=as_published), resources)
    contents = PageContents(settings.pages_dir) if settings.pages_dir else None
    if contents:
        resources.on_close(contents.close)
    return CragMmTextSearch(ChromaIndex(settings.index_dir, COLLECTION, encoder.size), encoder, contents)


def _open_index(
    settings: TextSearchSettings,
    resources: EngineResources,
    encoder: TextEncoder | None,
    rank_constant: int = RANK_CONSTANT,
) -> "IndexedTextSearch":
    """Open the store, after the encoder: a model that cannot be loaded leaves the store unlocked."""
    from services.text_search.engines.indexed import IndexedTextSearch

    store = settings.open_store()
    resources.on_close(store.close)
    resources.metrics.ingested("passages", 0)  # so that the first ones are seen as an increase
    watch_published(resources.metrics, store)
    terms = encoder is None or settings.hybrid
    return IndexedTextSearch(store, encoder, terms, rank_constant, settings.max_side)


def _open_bge(settings: TextSearchSettings, resources: EngineResources) -> TextEncoder:
    from services.text_search.engines.bge import DEFAULT_MODEL, BgeEncoder, BgeModel

    accelerator = resources.open_accelerator(settings.placement)
    source = settings.model or DEFAULT_MODEL
    model = BgeModel(source, accelerator, settings.pooling, settings.max_tokens)
    forward = resources.batch(model.forward, settings.batch_limits, "encode")
    return BgeEncoder(model, forward, settings.instructions, settings.max_batch)


def _open_remote(settings: TextSearchSettings, resources: EngineResources) -> TextEncoder:
    server = settings.open_remote("text_search")
    resources.on_close(server.close)
    options = RemoteOptions(settings.remote_path, settings.max_batch, settings.max_tokens)
    encoder = RemoteSeeingEncoder if settings.sees_photos else RemoteEncoder
    return encoder(server, settings.instructions, options)
