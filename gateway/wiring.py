"""The composition root: everything the gateway is made of, put together in one place, from top to bottom."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from chassis.http.calls import ServiceClient, http_client
from chassis.http.client import HttpClient
from chassis.http.health import Note
from chassis.images import PhotoDecoders
from chassis.resilience.deadlines import Clock, Deadline
from chassis.scope import scope_of
from chassis.telemetry.metrics import Metrics
from contracts.answer import DEFAULT_PIPELINE
from gateway.catalogue import every_pipeline
from gateway.clients.services import PhotoRecipients, Services
from gateway.planning.placement import Cards
from gateway.reasoners import Check, OpenReasoners, open_reasoners
from gateway.serving.admission import Admission, AdmissionLimits
from gateway.serving.background import background_group, background_task
from gateway.serving.execution import Execution
from gateway.serving.guards import Guards
from gateway.serving.idempotency import Idempotency
from gateway.serving.metrics import (
    BudgetMetrics,
    DecoderMetrics,
    QuestionMetrics,
    QuestionRecord,
    log_question,
)
from gateway.serving.quotas import Quotas
from gateway.serving.redis_store import redis_note
from gateway.serving.service_info import PlacementWatch
from gateway.serving.stores import open_stores
from gateway.serving.tenants import Keys, Quota
from gateway.serving.tiers import load_estimates, open_tiers
from gateway.serving.voice import Voice, open_voice, signing_secret, voice_note
from gateway.settings import GatewaySettings, Reasoning
from gateway.speech.audio import SoundDecoders
from gateway.steps.routing import SearchRouter
from gateway.store import MemoryStore
from gateway.thresholds import load_thresholds

_SOUND_BYTES = 32 * 2**20


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
async def wire(
    settings: GatewaySettings,
    metrics: Metrics,
    open_http: Callable[[], AbstractAsyncContextManager[HttpClient]] = http_client,
    open_reasoners: OpenReasoners = open_reasoners,
    clock: Clock = time.monotonic,
) -> AsyncIterator[Gateway]:
    """Open everything, hand it out, close it in reverse order. `clock`: what all deadlines are read on."""

    def slots(at_once: int) -> Admission:
        """Of decoders, before a question is admitted: its turn is decided as it is for questions."""
        return Admission(AdmissionLimits(at_once, settings.max_in_flight + settings.max_waiting), clock)

    def observe(question: QuestionRecord) -> None:
        questions.observe(question)
        budget.reached(stage.stage for stage in question.trace.stages)
        log_question(question)

    async def deadline_note(_: Deadline) -> Note:
        return tiers[0].deadline_note(settings, reasoners.sees_photos())

    async with AsyncExitStack() as resources:
        opened, registry = resources.enter_async_context, metrics.registry
        http = await opened(open_http())
        keys = Keys.load(settings.keys, clock, Quota.of_settings(settings))
        stores = await opened(open_stores(settings, keys, clock))
        background = await opened(background_group())

        questions = QuestionMetrics(registry, DEFAULT_PIPELINE)
        estimates = load_estimates(settings, clock)
        budget = BudgetMetrics(registry, estimates)

        guards = Guards(registry, Cards(settings.placement) if settings.placement else None, clock)
        services = _services(settings, http, guards)
        reasoners = open_reasoners(settings, http, guards, services.read)
        thresholds = load_thresholds(settings.thresholds, settings.risk)
        pipelines = every_pipeline(services, reasoners, thresholds, SearchRouter.load(settings.router))
        tiers = open_tiers(settings, reasoners.fallback is not None, estimates, clock, budget)

        decoder_ended = DecoderMetrics(registry).ended
        photos = PhotoDecoders(settings.photo_decoders, decoder_ended, questions.decoded)
        resources.callback(photos.close)
        recordings = SoundDecoders(settings.audio_decoders, decoder_ended)
        resources.callback(recordings.close)
        sounds = MemoryStore(_SOUND_BYTES, allowance_of=keys.kept, clock=clock)
        audio_slots = slots(settings.audio_decoders)
        voice = open_voice(
            settings, http, guards, stores.answers, sounds, recordings, audio_slots, budget, clock
        )

        execution = Execution(
            pipelines,
            stores.sessions,
            stores.traces,
            tiers,
            observe,
            services.holds_anything,
            voice=voice,
            scope_of=partial(scope_of, signing_secret(settings)),
            unverified=settings.unverified,
        )

        checks: dict[str, Check] = {name: partial(services.ready, name) for name in Services.names()}
        if stores.redis is not None:
            checks["redis"] = partial(redis_note, stores.redis)
        if settings.reasoning is Reasoning.VLM:
            checks["deadline"] = deadline_note
        checks |= {**reasoners.checks, "photos": photos.check}
        checks |= {name: partial(voice_note, server) for name, server in voice.servers.items()}
        if settings.placement is not None:
            watch = PlacementWatch(settings.placement, services, registry, clock)
            await opened(background_task(watch.run))
            checks["placement"] = watch.check
        if reasoners.keep_probing is not None:
            await opened(background_task(reasoners.keep_probing))

        yield Gateway(
            execution=execution,
            idempotency=Idempotency(stores.answers, background, settings.session_ttl_s),
            services=services,
            settings=settings,
            keys=keys,
            quotas=Quotas(keys.quota, stores.rates, budget.exceeded),
            photo_slots=slots(settings.photo_decoders),
            photos=photos,
            voice=voice,
            started_at=time.time(),
            checks=checks,
            model=reasoners.model,
        )


def _services(settings: GatewaySettings, http: HttpClient, guards: Guards) -> Services:
    token = settings.services.read_token()

    def client(name: str) -> ServiceClient:
        return ServiceClient(http, name, getattr(settings, f"{name}_url"), guards.adaptive(name), token)

    return Services(
        **{name: client(name) for name in Services.names()},
        photo_to=PhotoRecipients(settings.photo_to_domain_router, settings.photo_to_reranker),
        weigh=guards.weigh,
    )
