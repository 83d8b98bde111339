"""The composition root: everything the gateway is made of, put together in one place."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import httpx

from chassis.calls import ServiceClient, http_client
from chassis.deadlines import Deadline
from chassis.metrics import Metrics
from gateway.clients.services import Services, Sight
from gateway.pipelines.ablation import ablations
from gateway.pipelines.execution import Execution, TraceStore
from gateway.pipelines.loreglass import LoreglassPipeline
from gateway.pipelines.port import Pipeline
from gateway.pipelines.qa_dragon import QaDragonPipeline
from gateway.reasoning.extractive import ExtractiveReasoner
from gateway.reasoning.extractive.stepwise import StepwiseExtractiveReasoner
from gateway.reasoning.port import Reasoner, StepwiseReasoner
from gateway.sessions.memory import MemorySessionStore
from gateway.sessions.port import SessionLimits, SessionStore
from gateway.sessions.redis import RedisSessionStore, connect
from gateway.settings import GatewaySettings, Reasoning, SessionBackend
from gateway.stages.routing import SearchRouter
from gateway.stages.verification import AskJudge
from gateway.thresholds import Depths, load_thresholds

Check = Callable[[Deadline], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Gateway:
    """What the routes need. `checks`: what readiness exercises, by name."""

    execution: Execution
    services: Services
    settings: GatewaySettings
    photo_slots: anyio.CapacityLimiter
    started_at: float
    checks: Mapping[str, Check]


@dataclass(frozen=True, slots=True)
class Reasoners:
    """One reasoner behind both ports, when its judge is asked, and whether what it depends on is up."""

    few_hops: Reasoner
    stepwise: StepwiseReasoner
    ask_judge: AskJudge = AskJudge.IF_BORDERLINE
    checks: Mapping[str, Check] = field(default_factory=dict)


def open_reasoners(settings: GatewaySettings, http: httpx.AsyncClient, metrics: Metrics) -> Reasoners:
    """The reasoner that the settings choose."""
    if settings.reasoning is Reasoning.EXTRACTIVE:
        extractive = ExtractiveReasoner()
        return Reasoners(extractive, StepwiseExtractiveReasoner(extractive))
    from gateway.reasoning.vlm.client import VlmClient, VlmEndpoint
    from gateway.reasoning.vlm.fencing import Budget
    from gateway.reasoning.vlm.metrics import VlmMetrics
    from gateway.reasoning.vlm.options import VlmOptions
    from gateway.reasoning.vlm.reasoner import StepwiseVlmReasoner, VlmReasoner

    key = settings.vlm_key.get_secret_value()
    endpoint = VlmEndpoint(settings.vlm_url, settings.vlm_model, key)
    client = VlmClient(http, endpoint, VlmMetrics(metrics.registry).observe)
    options = VlmOptions(
        evidence=Budget(total=settings.vlm_evidence_chars, piece=settings.vlm_passage_chars),
        history_turns=settings.vlm_history_turns,
        history_chars=settings.vlm_history_chars,
    )
    few_hops, stepwise = VlmReasoner(client, options), StepwiseVlmReasoner(client, options)
    return Reasoners(few_hops, stepwise, AskJudge.IF_UNMEASURED, {"vlm": client.ready})


OpenReasoners = Callable[[GatewaySettings, httpx.AsyncClient, Metrics], Reasoners]


@asynccontextmanager
async def wire(
    settings: GatewaySettings,
    metrics: Metrics,
    open_http: Callable[[], httpx.AsyncClient] = http_client,
    open_reasoners: OpenReasoners = open_reasoners,
) -> AsyncIterator[Gateway]:
    """Open everything, hand it out, close it in reverse order."""
    async with AsyncExitStack() as resources:
        http = await resources.enter_async_context(open_http())
        sessions = _sessions(settings)
        resources.push_async_callback(sessions.close)
        services = _services(settings, http)
        reasoners = open_reasoners(settings, http, metrics)
        execution = Execution(
            _pipelines(settings, services, reasoners),
            sessions,
            TraceStore(settings.trace_limit),
            settings.max_in_flight,
        )
        slots = anyio.CapacityLimiter(settings.photo_decoders)
        checks = {name: partial(services.ready, name) for name in Services.names()} | dict(reasoners.checks)
        yield Gateway(execution, services, settings, slots, time.time(), checks)


def _pipelines(settings: GatewaySettings, services: Services, reasoners: Reasoners) -> dict[str, Pipeline]:
    """Every named pipeline: the default, QA-Dragon, and QA-Dragon with modules left out."""
    thresholds, depths, router = load_thresholds(settings.thresholds), Depths(), SearchRouter.load()
    pipelines: list[Pipeline] = [
        LoreglassPipeline(services, reasoners.few_hops, thresholds, depths, router, reasoners.ask_judge),
        *(
            QaDragonPipeline(services, reasoners.stepwise, thresholds, depths, having, router)
            for having in ablations()
        ),
    ]
    return {pipeline.name: pipeline for pipeline in pipelines}


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
        sight=Sight(settings.photo_to_domain_router, settings.photo_to_reranker),
    )


def _sessions(settings: GatewaySettings) -> SessionStore:
    limits = SessionLimits(ttl_s=settings.session_ttl_s)
    if settings.sessions is SessionBackend.REDIS:
        return RedisSessionStore(connect(settings.redis_url), limits)
    return MemorySessionStore(limits, max_sessions=settings.session_limit, max_bytes=settings.session_bytes)
