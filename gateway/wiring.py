"""The composition root: everything the gateway is made of, put together in one place."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import anyio
import httpx

from chassis.calls import ServiceClient, http_client
from gateway.clients.services import Services
from gateway.pipelines.execution import Execution, TraceStore
from gateway.pipelines.loreglass import LoreglassPipeline
from gateway.reasoning.extractive import ExtractiveReasoner
from gateway.reasoning.port import Reasoner
from gateway.sessions.memory import MemorySessionStore
from gateway.sessions.port import SessionLimits, SessionStore
from gateway.sessions.redis import RedisSessionStore, connect
from gateway.settings import GatewaySettings, SessionBackend
from gateway.thresholds import Depths, Thresholds


@dataclass(frozen=True, slots=True)
class Gateway:
    """What the routes need."""

    execution: Execution
    services: Services
    settings: GatewaySettings
    photo_slots: anyio.CapacityLimiter


@asynccontextmanager
async def wire(
    settings: GatewaySettings,
    open_http: Callable[[], httpx.AsyncClient] = http_client,
    open_reasoner: Callable[[], Reasoner] = ExtractiveReasoner,
) -> AsyncIterator[Gateway]:
    """Open everything, hand it out, close it in reverse order."""
    async with AsyncExitStack() as resources:
        http = await resources.enter_async_context(open_http())
        sessions = _sessions(settings)
        resources.push_async_callback(sessions.close)
        services = _services(settings, http)
        pipeline = LoreglassPipeline(services, open_reasoner(), Thresholds(), Depths())
        execution = Execution(
            {pipeline.name: pipeline}, sessions, TraceStore(settings.trace_limit), settings.max_in_flight
        )
        yield Gateway(execution, services, settings, anyio.CapacityLimiter(settings.photo_decoders))


def _services(settings: GatewaySettings, http: httpx.AsyncClient) -> Services:
    client = partial(ServiceClient, http)
    return Services(
        ocr=client("ocr", settings.ocr_url),
        cropper=client("cropper", settings.cropper_url),
        image_search=client("image_search", settings.image_search_url),
        text_search=client("text_search", settings.text_search_url),
        reranker=client("reranker", settings.reranker_url),
        domain_router=client("domain_router", settings.domain_router_url),
        verifier=client("verifier", settings.verifier_url),
    )


def _sessions(settings: GatewaySettings) -> SessionStore:
    limits = SessionLimits(ttl_s=settings.session_ttl_s)
    if settings.sessions is SessionBackend.REDIS:
        return RedisSessionStore(connect(settings.redis_url), limits)
    return MemorySessionStore(limits, max_sessions=settings.session_limit, max_bytes=settings.session_bytes)
