"""The composition root: everything the gateway is made of, put together in one place, from top to bottom."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from secrets import token_bytes

from chassis.http.calls import http_client
from chassis.http.health import Note
from chassis.images import PhotoDecoders
from chassis.resilience.deadlines import Clock, Deadline
from chassis.scope import scope_of
from chassis.telemetry.metrics import Metrics
from contracts.answer import DEFAULT_PIPELINE
from gateway.clients.services import Services
from gateway.pipelines.loreglass.pipeline import STAGE_GRAPH
from gateway.planning.estimates import Estimates
from gateway.planning.placement import Cards
from gateway.planning.prefetch import background_group, background_task
from gateway.planning.stages import deadline_advice
from gateway.reasoners import Check, OpenReasoners, Reasoners, every_pipeline, open_reasoners
from gateway.serving.admission import Admission, Quotas
from gateway.serving.execution import Execution, Tier, open_tiers
from gateway.serving.guards import Guards, PlacementWatch, open_services
from gateway.serving.idempotency import Idempotency
from gateway.serving.memory import open_memory
from gateway.serving.metrics import GatewayMetrics
from gateway.serving.redis_store import redis_note
from gateway.serving.stores import Stores, open_stores
from gateway.serving.tenants import Keys
from gateway.serving.voice import Voice, open_voice
from gateway.settings import GatewaySettings, Reasoning
from gateway.speech.audio import SoundDecoders
from gateway.steps.answering import spared_stages
from gateway.steps.routing import SearchRouter
from gateway.thresholds import load_thresholds


@dataclass(frozen=True, slots=True)
class Gateway:
    """The parts that routes use. `checks`: of readiness, by name.

    `model`: its name and abilities, as far as they are known. `started_at`: seconds since 1970.
    """

    execution: Execution
    idempotency: Idempotency
    services: Services
    settings: GatewaySettings
    keys: Keys
    quotas: Quotas
    photo_slots: Admission
    photos: PhotoDecoders
    checks: Mapping[str, Check]
    voice: Voice
    signing_secret: bytes = field(default_factory=partial(token_bytes, 32))
    model: Callable[[], Mapping[str, str]] = dict
    started_at: float = field(default_factory=time.time)


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
        keys = Keys.of_settings(settings)
        stores = await enter(open_stores(settings, keys))

        estimates = Estimates(settings.read_latencies())
        meters = GatewayMetrics(registry, DEFAULT_PIPELINE, estimates)
        guards = Guards(registry, Cards(settings.placement) if settings.placement else None)
        services = open_services(settings, http, guards)
        reasoners = open_reasoners(settings, http, guards, services.read)
        thresholds = load_thresholds(settings.thresholds, settings.risk)
        tiers = open_tiers(settings, reasoners.fallback is not None, estimates, meters)
        photos = PhotoDecoders(settings.photo_decoders, meters.count_decoder_end, meters.count_photo)
        resources.callback(photos.close)
        recordings = SoundDecoders(settings.audio_decoders, meters.count_decoder_end)
        resources.callback(recordings.close)
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
            memory=await open_memory(settings, stores, photos, photo_slots, wall_clock),
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
            checks=checks,
            model=reasoners.model,
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
