"""The composition root: everything the gateway is made of, put together in one place."""

import hashlib
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from anyio.abc import TaskGroup
from pydantic import SecretStr
from redis.asyncio import Redis

from chassis.http.calls import ServiceClient, http_client
from chassis.http.client import HttpClient
from chassis.http.health import Note
from chassis.images import PhotoDecoders
from chassis.resilience.deadlines import Clock, Deadline
from chassis.scope import scope_of
from chassis.telemetry.metrics import Metrics
from contracts.answer import DEFAULT_PIPELINE
from contracts.errors import ErrorKind
from gateway.catalogue import every_pipeline
from gateway.clients.services import PhotoRecipients, Services
from gateway.expiring_store import ExpiringStore
from gateway.pipelines.loreglass.pipeline import STAGE_GRAPH as LOREGLASS
from gateway.pipelines.port import Pipeline
from gateway.planning.advice import deadline_advice
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import load_latencies
from gateway.planning.placement import Cards
from gateway.planning.plan import Plan
from gateway.planning.planner import Planner
from gateway.planning.run import side_by_side
from gateway.reasoners import Check, OpenReasoners, Reasoners, open_reasoners
from gateway.serving.admission import Admission, AdmissionLimits
from gateway.serving.execution import Execution, Tier
from gateway.serving.guards import Guards
from gateway.serving.idempotency import Idempotency
from gateway.serving.metrics import (
    BudgetMetrics,
    DecoderMetrics,
    QuestionMetrics,
    QuestionRecord,
    log_question,
)
from gateway.serving.quotas import Quotas, SharedRates
from gateway.serving.service_info import PlacementWatch
from gateway.serving.sessions import MemorySessionStore, RedisSessionStore, SessionLimits, SessionStore
from gateway.serving.stores import MemoryStore, RedisStore, answers, connect
from gateway.serving.tenants import Keys, Quota
from gateway.serving.traces import MemoryTraceStore, SharedTraceStore, TraceStore
from gateway.serving.voice import Voice, voice_note
from gateway.settings import GatewaySettings, Reasoning, SessionBackend
from gateway.speech.audio import SoundDecoders
from gateway.speech.servers import SpeechEndpoint, SpeechServer, Synthesizer, Transcriber
from gateway.speech.spoken_answers import SignedSpeechUrls, SoundCache
from gateway.state import GenerationBudget
from gateway.steps.answering import spared_stages
from gateway.steps.routing import SearchRouter
from gateway.thresholds import LITE_LIMITS, RetrievalLimits, load_thresholds

_TRACE_CONNECTIONS = 4
_KEPT_CONNECTIONS = 8
_RATE_CONNECTIONS = 8
_SOUND_BYTES = 32 * 2**20
_TRACES_FOR_S = 600.0
"""Not long: they lie beside people's sessions, and a trace is a few kilobytes."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """What the routes need. `checks`: what readiness exercises, by name.

    `model`: what its server was found to do.
    """

    execution: Execution
    idempotency: Idempotency
    services: Services
    settings: GatewaySettings
    keys: Keys
    quotas: Quotas
    photo_slots: Admission
    photos: PhotoDecoders
    started_at: float
    checks: Mapping[str, Check]
    voice: Voice
    model: Callable[[], Mapping[str, str]] = dict


@asynccontextmanager
async def background_task(work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Run `work` for as long as the body runs."""
    async with side_by_side() as group:
        group.start_soon(work)
        yield
        group.cancel_scope.cancel()


@asynccontextmanager
async def _cancelled_at_the_end() -> AsyncIterator[TaskGroup]:
    """Where work goes on that its request does not wait for."""
    async with side_by_side() as group:
        yield group
        group.cancel_scope.cancel()


@asynccontextmanager
async def wire(
    settings: GatewaySettings,
    metrics: Metrics,
    open_http: Callable[[], AbstractAsyncContextManager[HttpClient]] = http_client,
    open_reasoners: OpenReasoners = open_reasoners,
    clock: Clock = time.monotonic,
) -> AsyncIterator[Gateway]:
    """Open everything, hand it out, close it in reverse order. `clock`: what all deadlines are read on."""
    async with AsyncExitStack() as resources:
        http = await resources.enter_async_context(open_http())
        keys = Keys.load(settings.keys, clock, _quota(settings))
        sessions, kept = _sessions(settings, keys), _kept(settings, keys, clock)
        resources.push_async_callback(sessions.close)
        resources.push_async_callback(kept.close)
        going_on = await resources.enter_async_context(_cancelled_at_the_end())
        guards = Guards(metrics.registry, _cards(settings), clock)
        services = _services(settings, http, guards)
        reasoners = open_reasoners(settings, http, guards, services.read)
        pipelines = _pipelines(settings, services, reasoners)
        questions = QuestionMetrics(metrics.registry, DEFAULT_PIPELINE)
        budget = BudgetMetrics(metrics.registry, estimates := _estimates(settings, clock))
        tiers = _tiers(settings, reasoners, clock, estimates, budget)
        quotas, checks = await resources.enter_async_context(_quotas(settings, keys, clock, budget))
        traces = await resources.enter_async_context(_traces(settings, keys))
        photos, recordings = _decoders(settings, metrics, questions, resources)
        voice = _voice(settings, http, guards, kept, keys, clock, budget, recordings)
        execution = Execution(
            pipelines,
            sessions,
            traces,
            tiers,
            partial(_tell, questions, budget),
            services.holds_anything,
            voice=voice,
            scope_of=partial(scope_of, _secret(settings)),
            unverified=settings.unverified,
        )
        checks |= _checks(settings, services, reasoners, photos, voice, tiers[0].planner)
        if reasoners.keep_probing is not None:
            await resources.enter_async_context(background_task(reasoners.keep_probing))
        checks |= await _watch_placement(settings, services, metrics, clock, resources)
        yield Gateway(
            execution=execution,
            idempotency=Idempotency(kept, going_on, settings.session_ttl_s),
            services=services,
            settings=settings,
            keys=keys,
            quotas=quotas,
            photo_slots=_slots(settings, settings.photo_decoders, clock),
            photos=photos,
            voice=voice,
            started_at=time.time(),
            checks=checks,
            model=reasoners.model,
        )


def _pipelines(settings: GatewaySettings, services: Services, reasoners: Reasoners) -> Mapping[str, Pipeline]:
    router = SearchRouter.load(settings.router)
    return every_pipeline(services, reasoners, load_thresholds(settings.thresholds, settings.risk), router)


def _tell(metrics: QuestionMetrics, budget: BudgetMetrics, question: QuestionRecord) -> None:
    metrics.observe(question)
    budget.reached(stage.stage for stage in question.trace.stages)
    log_question(question)


async def _deadline_note(
    planner: Planner, settings: GatewaySettings, reasoners: Reasoners, _: Deadline
) -> Note:
    """Ready or not, callers get no answer of a model that is slower than they wait; operators are told."""
    spared = spared_stages(sees_photos=reasoners.sees_photos())
    question_ms = planner.expected_ms(planner.full, spared, 1, LOREGLASS)
    return Note(deadline_advice(question_ms, settings.answer_deadline_ms, settings.max_deadline_ms) or "ok")


def _cards(settings: GatewaySettings) -> Cards | None:
    return Cards(settings.placement) if settings.placement else None


def _estimates(settings: GatewaySettings, clock: Clock) -> Estimates:
    if settings.reasoning is not Reasoning.VLM:
        return Estimates(load_latencies(settings.latencies), clock)
    others = settings.stage_models.values()
    speeds = {stage: model.speed or settings.vlm_speed for model in others for stage in model.stages}
    return Estimates(load_latencies(settings.latencies, settings.vlm_speed, speeds), clock)


def _tiers(
    settings: GatewaySettings,
    reasoners: Reasoners,
    clock: Clock,
    estimates: Estimates,
    budget: BudgetMetrics,
) -> list[Tier]:
    """The ways in, with the plans behind them."""
    generation = GenerationBudget(evidence_chars=settings.vlm_evidence_chars)
    limits = RetrievalLimits() if reasoners.fallback is not None else LITE_LIMITS
    planner = Planner(Plan.full(limits, generation), estimates)

    def tier(name: str, waiting: int, planner: Planner) -> Tier:
        limits = AdmissionLimits(settings.max_in_flight, waiting)
        admission = Admission(limits, clock, partial(budget.refused, name))
        budget.watch(name, admission)
        return Tier(admission, planner)

    tiers = [tier("full", settings.max_waiting, planner)]
    if reasoners.fallback is not None:
        # Degrade before shed: for whom the model has no time, the pocket reasoner may have.
        tiers.append(tier("degraded", 0, planner.without_model()))
    return tiers


def _services(settings: GatewaySettings, http: HttpClient, guards: Guards) -> Services:
    token = settings.services.read_token()

    def client(name: str) -> ServiceClient:
        return ServiceClient(http, name, getattr(settings, f"{name}_url"), guards.adaptive(name), token)

    return Services(
        **{name: client(name) for name in Services.names()},
        photo_to=PhotoRecipients(settings.photo_to_domain_router, settings.photo_to_reranker),
        weigh=guards.weigh,
    )


def _quota(settings: GatewaySettings) -> Quota:
    """Return the quota of tenants without one of their own."""
    return Quota(
        requests_per_minute=settings.tenant_requests_per_minute,
        in_flight=settings.tenant_in_flight,
        sessions=settings.tenant_sessions,
        traces=settings.tenant_traces,
        stored_bytes=settings.tenant_stored_bytes,
    )


@asynccontextmanager
async def _quotas(
    settings: GatewaySettings, keys: Keys, clock: Clock, budget: BudgetMetrics
) -> AsyncIterator[tuple[Quotas, dict[str, Check]]]:
    """Shared by the gateways that share their sessions; with the readiness check of their Redis."""
    if settings.sessions is not SessionBackend.REDIS:
        yield Quotas(keys.quota, on_exceeded=budget.exceeded), {}
        return
    client = connect(settings.redis_url, max_connections=_RATE_CONNECTIONS)
    async with aclosing(SharedRates(client, settings.gateways, clock)) as rates:
        yield Quotas(keys.quota, rates, budget.exceeded), {"redis": partial(_redis_note, client)}


async def _redis_note(client: Redis, deadline: Deadline) -> Note:
    """Stay ready without Redis: each question is then answered as the first of its session."""
    return Note("ok" if await answers(client, deadline) else ErrorKind.DEPENDENCY_UNAVAILABLE.value)


@asynccontextmanager
async def _traces(settings: GatewaySettings, keys: Keys) -> AsyncIterator[TraceStore]:
    """Shared by the gateways that share their sessions."""
    own = MemoryTraceStore(settings.trace_limit, keys.traces)
    if settings.sessions is not SessionBackend.REDIS:
        yield own
        return
    client = connect(settings.redis_url, max_connections=_TRACE_CONNECTIONS)
    shared = SharedTraceStore(own, client, _TRACES_FOR_S, allowance_of=keys.traces)
    async with aclosing(shared), background_task(shared.run):
        yield shared


async def _watch_placement(
    settings: GatewaySettings, services: Services, metrics: Metrics, clock: Clock, resources: AsyncExitStack
) -> dict[str, Check]:
    """Where services are planned for cards: what readiness asks of whether they are there."""
    if settings.placement is None:
        return {}
    watch = PlacementWatch(settings.placement, services, metrics.registry, clock)
    await resources.enter_async_context(background_task(watch.run))
    return {"placement": watch.check}


def _decoders(
    settings: GatewaySettings, metrics: Metrics, questions: QuestionMetrics, resources: AsyncExitStack
) -> tuple[PhotoDecoders, SoundDecoders]:
    """Of photos and of recordings; their processes end with the gateway."""
    ended = DecoderMetrics(metrics.registry).ended
    photos = PhotoDecoders(settings.photo_decoders, ended, questions.decoded)
    resources.callback(photos.close)
    recordings = SoundDecoders(settings.audio_decoders, ended)
    resources.callback(recordings.close)
    return photos, recordings


def _checks(
    settings: GatewaySettings,
    services: Services,
    reasoners: Reasoners,
    photos: PhotoDecoders,
    voice: Voice,
    planner: Planner,
) -> dict[str, Check]:
    """What readiness exercises in any case."""
    checks: dict[str, Check] = {name: partial(services.ready, name) for name in Services.names()}
    servers = {name: partial(voice_note, server) for name, server in voice.servers.items()}
    if settings.reasoning is Reasoning.VLM:
        checks["deadline"] = partial(_deadline_note, planner, settings, reasoners)
    return {**checks, **reasoners.checks, "photos": photos.check, **servers}


def _voice(
    settings: GatewaySettings,
    http: HttpClient,
    guards: Guards,
    kept: ExpiringStore,
    keys: Keys,
    clock: Clock,
    budget: BudgetMetrics,
    decoders: SoundDecoders,
) -> Voice:
    """What hears and what speaks, as far as the settings name servers for it."""

    servers: dict[str, SpeechServer] = {}
    turns: dict[str, Admission] = {}

    def use(name: str, url: str, model: str, key: SecretStr, at_once: int) -> None:
        endpoint = SpeechEndpoint(name, url, model, key.get_secret_value())
        servers[name] = SpeechServer(http, endpoint, guards.fixed(name, at_once))
        limits = AdmissionLimits(at_once, settings.max_waiting)
        turns[name] = Admission(limits, clock, partial(budget.refused, name))
        budget.watch(name, turns[name])

    if settings.stt_url:
        use("stt", settings.stt_url, settings.stt_model, settings.stt_key, settings.stt_at_once)
    if settings.tts_url:
        use("tts", settings.tts_url, settings.tts_model, settings.tts_key, settings.tts_at_once)
    speaks = "tts" in servers
    return Voice(
        decoders=decoders,
        slots=_slots(settings, settings.audio_decoders, clock),
        turns=turns,
        transcriber=Transcriber(servers["stt"]) if "stt" in servers else None,
        synthesizer=Synthesizer(servers["tts"]) if speaks else None,
        # As long as an answer is kept for who asks again: its address must still be good.
        signed_urls=SignedSpeechUrls(_secret(settings), kept, settings.session_ttl_s) if speaks else None,
        sound_cache=SoundCache(MemoryStore(_SOUND_BYTES, clock, keys.kept), settings.session_ttl_s),
        servers=servers,
        most_chars=settings.speech_max_chars,
    )


def _secret(settings: GatewaySettings) -> bytes:
    """Gateways that share what they keep have to agree on it."""
    if given := settings.speech_secret.get_secret_value():
        return given.encode()
    if settings.sessions is SessionBackend.REDIS:
        return hashlib.sha256(f"loreglass speech {settings.redis_url}".encode()).digest()
    return secrets.token_bytes(32)


def _kept(settings: GatewaySettings, keys: Keys, clock: Clock) -> ExpiringStore:
    """Shared by the gateways that share their sessions."""
    if settings.sessions is SessionBackend.REDIS:
        client = connect(settings.redis_url, max_connections=_KEPT_CONNECTIONS)
        return RedisStore(client, ttl_s=settings.session_ttl_s, allowance_of=keys.kept)
    return MemoryStore(clock=clock, allowance_of=keys.kept)


def _sessions(settings: GatewaySettings, keys: Keys) -> SessionStore:
    limits = SessionLimits(ttl_s=settings.session_ttl_s)
    if settings.sessions is SessionBackend.REDIS:
        return RedisSessionStore(connect(settings.redis_url), limits, allowance_of=keys.sessions)
    return MemorySessionStore(
        limits,
        max_sessions=settings.session_limit,
        max_bytes=settings.session_bytes,
        allowance_of=keys.sessions,
    )


def _slots(settings: GatewaySettings, at_once: int, clock: Clock) -> Admission:
    """For decoding, before a question is let in: whose turn it is, is decided as it is for questions."""
    waiting = settings.max_in_flight + settings.max_waiting
    return Admission(AdmissionLimits(at_once, waiting), clock)
