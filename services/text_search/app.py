"""The text_search service: which passages speak of what is asked."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

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
    from services.text_search.engines.web import WebTextSearch

    _SearchOnly = WebTextSearch | CragMmTextSearch

_PAGE_LIMITS = FetchLimits(max_bytes=8 * 2**20, seconds=8.0)

BUILTIN_RANK_CONSTANT = 1
"""Of SQuAD's answering paragraphs 97.8 % are among the first five; 96.5 % with 60."""


def create_app(settings: TextSearchSettings) -> FastAPI:
    """Return the service with the engine and the store that the settings name."""
    if settings.engine in _SEARCH_ONLY:
        search_only = ServiceSpec(
            name="text_search",
            routers=[router],
            open_engine=partial(_SEARCH_ONLY[settings.engine], settings),
            probe=lambda engine: engine.probe(),
            close_engine=lambda engine: engine.close(),
        )
        return create_service(search_only, settings)
    spec = ServiceSpec(
        name="text_search",
        routers=[router, pages_router, collections_router],
        write_routers=[write_router, indexing_router, documents_router],
        open_engine=partial(open_engine, settings),
        probe=probe_index,
        close_engine=lambda engine: engine.store.close(),
        takes=("text", "image") if settings.sees_photos else ("text",),
    )
    return create_service(spec, settings)


def _open_web(settings: TextSearchSettings, _: EngineResources) -> "WebTextSearch":
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
    return WebTextSearch(provider, fetcher, limits, time.monotonic)


def _open_crag_mm(settings: TextSearchSettings, resources: EngineResources) -> "CragMmTextSearch":
    from chassis.vectors.chroma import ChromaIndex
    from services.text_search.engines.crag_mm import COLLECTION, CragMmTextSearch, PageContents

    as_published = {"pooling": Pooling.MEAN, "query_instruction": "", "passage_instruction": ""}
    encoder = open_encoder(settings.model_copy(update=as_published), resources)
    contents = PageContents(settings.pages_dir) if settings.pages_dir else None
    return CragMmTextSearch(ChromaIndex(settings.index_dir, COLLECTION, encoder.size), encoder, contents)


_SEARCH_ONLY: Mapping[Engine, Callable[[TextSearchSettings, EngineResources], "_SearchOnly"]] = {
    Engine.WEB: _open_web,
    Engine.CRAG_MM: _open_crag_mm,
}
"""Engines that keep no index of their own."""


def open_engine(settings: TextSearchSettings, resources: EngineResources) -> TextSearchEngine:
    """Open an index that is searched by BM25, an encoder or both. Metrics show what it has published."""
    from services.text_search.engines.indexed import IndexedTextSearch

    constant = BUILTIN_RANK_CONSTANT if settings.engine is Engine.BUILTIN else RANK_CONSTANT
    # Before the store, which a wrong model then leaves unlocked.
    encoder = None if settings.engine is Engine.BM25 else open_encoder(settings, resources)
    terms = encoder is None or settings.hybrid
    engine = IndexedTextSearch(settings.open_store(), encoder, terms, constant, settings.max_side)
    resources.metrics.ingested("passages", 0)  # so that the first ones are seen as an increase
    watch_published(resources.metrics, engine.store)
    return engine


def open_encoder(settings: TextSearchSettings, resources: EngineResources) -> TextEncoder:
    """The built-in model, one whose forward passes the calls share, or the client of a server."""
    if settings.engine is Engine.BUILTIN:
        from chassis.models.encoders import shared_sentence_encoder

        return shared_sentence_encoder()
    instructions = settings.instructions
    if settings.engine is Engine.REMOTE:
        server = settings.open_remote("text_search")
        resources.on_close(server.close)
        options = RemoteOptions(settings.remote_path, settings.max_batch, settings.max_tokens)
        encoder = RemoteSeeingEncoder if settings.sees_photos else RemoteEncoder
        return encoder(server, instructions, options)
    from services.text_search.engines.bge import DEFAULT_MODEL, BgeEncoder, BgeModel

    accelerator = resources.open_accelerator(settings.placement)
    source = settings.model or DEFAULT_MODEL
    model = BgeModel(source, accelerator, settings.pooling, settings.max_tokens)
    forward = resources.batch(model.forward, settings.batch_limits, "encode")
    return BgeEncoder(model, forward, instructions, settings.max_batch)
