"""The composition root: everything the gateway is made of, put together in one place."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import httpx

from chassis.calls import ServiceClient, http_client
from chassis.deadlines import Clock, Deadline
from chassis.metrics import Metrics
from gateway.budget.admission import Admission, AdmissionLimits
from gateway.budget.course import COT
from gateway.budget.estimates import Estimates
from gateway.budget.guards import Guards
from gateway.budget.latencies import load_latencies
from gateway.budget.metrics import BudgetMetrics
from gateway.budget.placement import Cards
from gateway.budget.plan import Plan
from gateway.budget.planner import Planner
from gateway.budget.stages import Stage
from gateway.clients.services import Services, Sight
from gateway.pipelines.ablation import ablations, loreglass_ablations
from gateway.pipelines.closed_book import ClosedBookPipeline
from gateway.pipelines.crag_mm import TASKS, CragMmPipeline
from gateway.pipelines.direct_rag import DirectRagPipeline
from gateway.pipelines.execution import Execution, Lane, TraceStore
from gateway.pipelines.loreglass import LoreglassPipeline
from gateway.pipelines.measures import Ended, QuestionMetrics, log_question
from gateway.pipelines.port import Pipeline
from gateway.pipelines.qa_dragon import QaDragonPipeline
from gateway.pipelines.three_step import ThreeStepPipeline
from gateway.pipelines.wiki_prf import WikiPrfPipeline
from gateway.reasoning.baselines import BaselineReasoner, StepByStepReasoner
from gateway.reasoning.pocket.reasoner import PocketReasoner
from gateway.reasoning.pocket.steps import PocketBaselines, PocketSteps, PocketThreeStep, PocketWikiPrf
from gateway.reasoning.port import Read, Reasoner, StepwiseReasoner
from gateway.reasoning.three_step import ThreeStepReasoner
from gateway.reasoning.wiki_prf import WikiPrfReasoner
from gateway.sessions.memory import MemorySessionStore
from gateway.sessions.port import SessionLimits, SessionStore
from gateway.sessions.redis import RedisSessionStore, connect
from gateway.settings import GatewaySettings, Reasoning, SessionBackend
from gateway.stages.routing import SearchRouter
from gateway.stages.run import side_by_side
from gateway.stages.verification import AskJudge
from gateway.state import Effort
from gateway.tenants import Keys
from gateway.thresholds import Depths, load_thresholds
from gateway.watch import PlacementWatch

Check = Callable[[Deadline], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Gateway:
    """What the routes need. `checks`: what readiness exercises, by name.

    `photo_decoded` is told how many seconds a photo took.
    """

    execution: Execution
    services: Services
    settings: GatewaySettings
    keys: Keys
    photo_slots: anyio.CapacityLimiter
    started_at: float
    checks: Mapping[str, Check]
    photo_decoded: Callable[[float], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Reasoners:
    """One reasoner behind all ports, when its judge is asked, and whether what it depends on is up.

    `resort`: who reads when a model cannot be had in time; None without a model. `in_steps`: None too.
    """

    few_hops: Reasoner
    stepwise: StepwiseReasoner
    baselines: BaselineReasoner
    three_step: ThreeStepReasoner
    wiki_prf: WikiPrfReasoner
    in_steps: StepByStepReasoner | None = None
    ask_judge: AskJudge = AskJudge.IF_BORDERLINE
    checks: Mapping[str, Check] = field(default_factory=dict)
    resort: "Reasoners | None" = None


def pocket_reasoners(read: Read) -> Reasoners:
    """Who reads without a model: adapters of the reader service."""
    return Reasoners(
        few_hops=PocketReasoner(read),
        stepwise=PocketSteps(read),
        baselines=PocketBaselines(read),
        three_step=PocketThreeStep(read),
        wiki_prf=PocketWikiPrf(read),
    )


def open_reasoners(
    settings: GatewaySettings, http: httpx.AsyncClient, guards: Guards, read: Read
) -> Reasoners:
    """The reasoner that the settings choose. `read`: the reader service."""
    if settings.reasoning is Reasoning.POCKET:
        return pocket_reasoners(read)
    from gateway.reasoning.vlm.baselines import VlmBaselines
    from gateway.reasoning.vlm.client import VlmClient, VlmEndpoint
    from gateway.reasoning.vlm.fencing import Budget
    from gateway.reasoning.vlm.metrics import VlmMetrics
    from gateway.reasoning.vlm.options import VlmOptions
    from gateway.reasoning.vlm.reasoner import StepwiseVlmReasoner, VlmReasoner
    from gateway.reasoning.vlm.three_step import ThreeStepVlmReasoner
    from gateway.reasoning.vlm.wiki_prf import WikiPrfVlmReasoner

    key = settings.vlm_key.get_secret_value()
    endpoint = VlmEndpoint(settings.vlm_url, settings.vlm_model, key)
    guard = guards.fixed("vlm", settings.vlm_sequences)
    client = VlmClient(http, endpoint, VlmMetrics(guards.registry).observe, guard)
    options = VlmOptions(
        evidence=Budget(total=settings.vlm_evidence_chars, piece=settings.vlm_passage_chars),
        history_turns=settings.vlm_history_turns,
        history_chars=settings.vlm_history_chars,
    )
    baselines = VlmBaselines(client, options)
    return Reasoners(
        few_hops=VlmReasoner(client, options),
        stepwise=StepwiseVlmReasoner(client, options),
        baselines=baselines,
        three_step=ThreeStepVlmReasoner(client, options),
        wiki_prf=WikiPrfVlmReasoner(client, options),
        in_steps=baselines,
        ask_judge=AskJudge.IF_UNMEASURED,
        checks={"vlm": client.ready},
        resort=pocket_reasoners(read),
    )


OpenReasoners = Callable[[GatewaySettings, httpx.AsyncClient, Guards, Read], Reasoners]


@asynccontextmanager
async def beside(work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Run `work` for as long as the body runs."""
    async with side_by_side() as group:
        group.start_soon(work)
        yield
        group.cancel_scope.cancel()


@asynccontextmanager
async def wire(
    settings: GatewaySettings,
    metrics: Metrics,
    open_http: Callable[[], httpx.AsyncClient] = http_client,
    open_reasoners: OpenReasoners = open_reasoners,
    clock: Clock = time.monotonic,
) -> AsyncIterator[Gateway]:
    """Open everything, hand it out, close it in reverse order. `clock`: what all deadlines are read on."""
    async with AsyncExitStack() as resources:
        http = await resources.enter_async_context(open_http())
        sessions = _sessions(settings)
        resources.push_async_callback(sessions.close)
        cards = Cards(settings.placement) if settings.placement else None
        guards = Guards(metrics.registry, cards, clock)
        services = _services(settings, http, guards)
        reasoners = open_reasoners(settings, http, guards, services.read)
        pipelines = _pipelines(settings, services, reasoners)
        questions = QuestionMetrics(metrics.registry, pipelines)
        lanes = _lanes(settings, reasoners, clock, BudgetMetrics(metrics.registry))
        traces = TraceStore(settings.trace_limit)
        tell, holds = partial(_tell, questions), services.holds_anything
        execution = Execution(pipelines, sessions, traces, lanes, tell, holds)
        checks: dict[str, Check] = {name: partial(services.ready, name) for name in Services.names()}
        checks |= reasoners.checks
        if settings.placement:
            watch = PlacementWatch(settings.placement, services, metrics.registry, clock)
            checks["placement"] = watch.check
            await resources.enter_async_context(beside(watch.run))
        yield Gateway(
            execution=execution,
            services=services,
            settings=settings,
            keys=Keys.load(settings.keys, clock),
            photo_slots=anyio.CapacityLimiter(settings.photo_decoders),
            photo_decoded=questions.decoded,
            started_at=time.time(),
            checks=checks,
        )


def _tell(metrics: QuestionMetrics, question: Ended) -> None:
    metrics.observe(question)
    log_question(question)


def _lanes(
    settings: GatewaySettings, reasoners: Reasoners, clock: Clock, budget: BudgetMetrics
) -> list[Lane]:
    """The ways in, with the plans behind them."""
    vlm = settings.vlm_speed if settings.reasoning is Reasoning.VLM else None
    effort = Effort(evidence_chars=settings.vlm_evidence_chars)
    estimates = Estimates(load_latencies(settings.latencies, vlm), clock)
    planner = Planner(Plan.full(Depths(), effort), estimates)
    budget.expect(estimates)

    def lane(name: str, waiting: int, planner: Planner) -> Lane:
        limits = AdmissionLimits(settings.max_in_flight, waiting)
        admission = Admission(limits, clock, partial(budget.refused, name))
        budget.watch(name, admission)
        return Lane(admission, planner)

    lanes = [lane("full", settings.max_waiting, planner)]
    if reasoners.resort is not None:
        # Degrade before shed: for whom the model has no time, the pocket reasoner may have.
        lanes.append(lane("quoting", 0, planner.without_model()))
    return lanes


def _pipelines(settings: GatewaySettings, services: Services, reasoners: Reasoners) -> dict[str, Pipeline]:
    """Every named pipeline: the default and QA-Dragon, both with modules left out too, and the others'."""
    thresholds, depths, router = load_thresholds(settings.thresholds), Depths(), SearchRouter.load()
    resort = reasoners.resort
    few_hops = [
        LoreglassPipeline(
            services,
            reasoners.few_hops,
            thresholds,
            having.depths(depths),
            having.router(router),
            having.ask_judge(reasoners.ask_judge),
            resort.few_hops if resort else None,
            having,
            having.name,
        )
        for having in loreglass_ablations()
    ]
    stepwise = [
        QaDragonPipeline(
            services,
            reasoners.stepwise,
            thresholds,
            depths,
            having,
            router,
            resort.stepwise if resort else None,
        )
        for having in ablations()
    ]
    papers: list[Pipeline] = [
        ThreeStepPipeline(services, reasoners.three_step, thresholds, resort.three_step if resort else None),
        WikiPrfPipeline(services, reasoners.wiki_prf, thresholds, resort.wiki_prf if resort else None),
    ]
    baselines = _baselines(services, reasoners, depths)
    pipelines: list[Pipeline] = [*few_hops, *stepwise, *papers, *baselines]
    return {pipeline.name: pipeline for pipeline in pipelines}


def _baselines(services: Services, reasoners: Reasoners, depths: Depths) -> Iterator[Pipeline]:
    """What was published beside the full systems; `cot` only where somebody can think aloud."""
    reader, resort = reasoners.baselines, reasoners.resort.baselines if reasoners.resort else None
    alone = resort.answer_alone if resort else None
    yield ClosedBookPipeline(services, reader.answer_alone, alone)
    if reasoners.in_steps is not None:
        in_steps = reasoners.in_steps.answer_in_steps
        yield ClosedBookPipeline(services, in_steps, alone, "cot", COT, Stage.DRAFT)
    yield DirectRagPipeline(services, reader, depths, resort)
    yield from (CragMmPipeline(services, reader, task, resort) for task in TASKS)


def _services(settings: GatewaySettings, http: httpx.AsyncClient, guards: Guards) -> Services:
    def client(name: str) -> ServiceClient:
        return ServiceClient(http, name, getattr(settings, f"{name}_url"), guards.adaptive(name))

    return Services(
        ocr=client("ocr"),
        cropper=client("cropper"),
        image_search=client("image_search"),
        text_search=client("text_search"),
        reranker=client("reranker"),
        domain_router=client("domain_router"),
        verifier=client("verifier"),
        reader=client("reader"),
        sight=Sight(settings.photo_to_domain_router, settings.photo_to_reranker),
        weigh=guards.weigh,
    )


def _sessions(settings: GatewaySettings) -> SessionStore:
    limits = SessionLimits(ttl_s=settings.session_ttl_s)
    if settings.sessions is SessionBackend.REDIS:
        return RedisSessionStore(connect(settings.redis_url), limits)
    return MemorySessionStore(limits, max_sessions=settings.session_limit, max_bytes=settings.session_bytes)
