"""The composition root: everything the gateway is made of, put together in one place, from top to bottom."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from secrets import token_bytes

from chassis.http.calls import ServiceClient, http_client
from chassis.http.client import HttpClient
from chassis.http.health import Note
from chassis.images import PhotoDecoders
from chassis.resilience.deadlines import Clock, Deadline
from chassis.scope import scope_of
from chassis.settings import read_secret
from chassis.telemetry.metrics import Metrics
from contracts.answer import DEFAULT_PIPELINE
from gateway.clients.services import PhotoRecipients, Services
from gateway.pipelines.loreglass.pipeline import STAGE_GRAPH
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import Latencies, load_latencies
from gateway.planning.placement import Cards
from gateway.planning.plan import Plan
from gateway.planning.planner import Planner
from gateway.planning.prefetch import background_group, background_task
from gateway.planning.stages import deadline_advice
from gateway.reasoners import Check, OpenReasoners, Reasoners, every_pipeline, open_reasoners
from gateway.serving.admission import Admission, Quotas
from gateway.serving.execution import Execution, Tier
from gateway.serving.guards import Guards, PlacementWatch
from gateway.serving.idempotency import Idempotency
from gateway.serving.memory import SETTING, Memory, check_key, encryption_key
from gateway.serving.metrics import GatewayMetrics
from gateway.serving.redis_store import redis_note
from gateway.serving.stores import Stores, open_stores
from gateway.serving.tenants import Keys, Quota
from gateway.serving.voice import Voice, open_voice
from gateway.settings import GatewaySettings, Reasoning
from gateway.speech.audio import SoundDecoders
from gateway.state import GenerationBudget
from gateway.steps.answering import spared_stages
from gateway.steps.routing import SearchRouter
from gateway.thresholds import LITE_LIMITS, RetrievalLimits, load_thresholds


@dataclass(frozen=True, slots=True)
class Gateway:
    """The parts that routes use. `checks`: of readiness, by name.

    `model`: its name and abilities, as far as they are known.
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
    signing_secret: bytes = field(default_factory=partial(token_bytes, 32))
    model: Callable[[], Mapping[str, str]] = dict


@asynccontextmanager
async def wire(
    settings: GatewaySettings,
    metrics: Metrics,
    open_reasoners: OpenReasoners = open_reasoners,
    wall_clock: Clock = time.time,
) -> AsyncIterator[Gateway]:
    """Open everything, hand it out, close it in reverse order. `wall_clock`: seconds since 1970."""
    async with AsyncExitStack() as resources:
        enter, registry = resources.enter_async_context, metrics.registry
        http = await enter(http_client())
        keys = Keys(
            settings.keys, quota=Quota.of_settings(settings), local_without_key=settings.local_without_key
        )
        stores = await enter(open_stores(settings, keys))

        estimates = Estimates(_latencies(settings))
        meters = GatewayMetrics(registry, DEFAULT_PIPELINE, estimates)
        guards = Guards(registry, Cards(settings.placement) if settings.placement else None)
        services = _services(settings, http, guards)
        reasoners = open_reasoners(settings, http, guards, services.read)
        thresholds = load_thresholds(settings.thresholds, settings.risk)
        tiers = _tiers(settings, reasoners.fallback is not None, estimates, meters)
        photos, recordings = _decoders(settings, meters, resources)
        photo_slots = Admission(settings.photo_decoders, settings.max_in_flight + settings.max_waiting)
        voice = open_voice(settings, http, guards, stores, recordings, meters)

        execution = Execution(
            every_pipeline(services, reasoners, thresholds, SearchRouter.load(settings.router)),
            stores.sessions,
            stores.traces,
            tiers,
            meters.count_question,
            services.holds_anything,
            voice=voice,
            scope_of=partial(scope_of, stores.signing_secret),
            unverified=settings.unverified,
            memory=await _memory(settings, stores, photos, photo_slots, wall_clock),
        )
        checks = _checks(settings, services, reasoners, stores, photos, voice, tiers[0])
        if settings.placement is not None:
            watch = PlacementWatch(settings.placement, services, registry)
            await enter(background_task(watch.run))
            checks["placement"] = watch.check
        if reasoners.keep_probing is not None:
            await enter(background_task(reasoners.keep_probing))
        yield Gateway(
            execution=execution,
            idempotency=Idempotency(stores.answers, await enter(background_group()), settings.session_ttl_s),
            services=services,
            settings=settings,
            keys=keys,
            quotas=Quotas(keys.quota, stores.rates, meters.count_excess),
            photo_slots=photo_slots,
            photos=photos,
            voice=voice,
            signing_secret=stores.signing_secret,
            started_at=time.time(),
            checks=checks,
            model=reasoners.model,
        )


def _latencies(settings: GatewaySettings) -> Latencies:
    """Return the latencies that planning starts from."""
    if settings.reasoning is not Reasoning.VLM:
        return load_latencies(settings.latencies)
    others = settings.stage_models.values()
    speeds = {stage: model.speed or settings.vlm_speed for model in others for stage in model.stages}
    return load_latencies(settings.latencies, settings.vlm_speed, speeds)


def _tiers(
    settings: GatewaySettings, has_fallback: bool, estimates: Estimates, meters: GatewayMetrics
) -> list[Tier]:
    """Return the tiers, in the order in which a question tries them: degrade before shed."""
    generation = GenerationBudget(evidence_chars=settings.vlm_evidence_chars)
    planner = Planner(Plan.full(RetrievalLimits() if has_fallback else LITE_LIMITS, generation), estimates)
    full = Tier(meters.open_admission("full", settings.max_in_flight, settings.max_waiting), planner)
    if not has_fallback:
        return [full]
    degraded = meters.open_admission("degraded", settings.max_in_flight, 0)
    return [full, Tier(degraded, planner.without_model())]


def _decoders(
    settings: GatewaySettings, meters: GatewayMetrics, resources: AsyncExitStack
) -> tuple[PhotoDecoders, SoundDecoders]:
    photos = PhotoDecoders(settings.photo_decoders, meters.count_decoder_end, meters.count_photo)
    resources.callback(photos.close)
    recordings = SoundDecoders(settings.audio_decoders, meters.count_decoder_end)
    resources.callback(recordings.close)
    return photos, recordings


async def _memory(
    settings: GatewaySettings, stores: Stores, photos: PhotoDecoders, slots: Admission, clock: Clock
) -> Memory | None:
    """Return the memory of what was seen; None without the operator's key. Raises `WrongSettings`."""
    text = read_secret(SETTING, settings.memory_key, settings.memory_key_file)
    if not text:
        return None
    key = encryption_key(text)
    if stores.redis is not None:
        await check_key(stores.redis, key)
    return Memory(stores.memories, key, settings.memory_days, photos, slots, clock)


def _services(settings: GatewaySettings, http: HttpClient, guards: Guards) -> Services:
    token = settings.services.read_token()

    def client(name: str) -> ServiceClient:
        return ServiceClient(http, name, getattr(settings, f"{name}_url"), guards.adaptive(name), token)

    return Services(
        **{name: client(name) for name in Services.names()},
        web_search=client("web_search") if settings.web_search_url else None,
        photo_to=PhotoRecipients(settings.photo_to_domain_router, settings.photo_to_reranker),
        weigh=guards.weigh,
    )


def _checks(
    settings: GatewaySettings,
    services: Services,
    reasoners: Reasoners,
    stores: Stores,
    photos: PhotoDecoders,
    voice: Voice,
    tier: Tier,
) -> dict[str, Check]:
    """Return what readiness exercises, by name."""

    async def deadline_note(_: Deadline) -> Note:
        """Return advice if the model is slower than callers wait; the gateway stays ready."""
        planner, spared = tier.planner, spared_stages(sees_photos=reasoners.sees_photos())
        question_ms = planner.expected_ms(planner.full, spared, 1, STAGE_GRAPH)
        advice = deadline_advice(question_ms, settings.answer_deadline_ms, settings.max_deadline_ms)
        return Note(advice or "ok")

    checks: dict[str, Check] = {name: partial(services.ready, name) for name in Services.names()}
    if stores.redis is not None:
        checks["redis"] = partial(redis_note, stores.redis)
    if settings.reasoning is Reasoning.VLM:
        checks["deadline"] = deadline_note
    servers = {each.endpoint.name: each.note for each in (voice.transcriber, voice.synthesizer) if each}
    return {**checks, **reasoners.checks, "photos": photos.check, **servers}
