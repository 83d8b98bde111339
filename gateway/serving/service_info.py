"""What the services say they are: for the line logged at the start, and compared with the placement plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version

import anyio
import structlog
from prometheus_client import CollectorRegistry, Gauge

from chassis.errors import LoreglassError
from chassis.http.health import Note
from chassis.resilience.deadlines import Clock, Deadline
from contracts.operations import Info
from gateway.clients.services import SEARCHES, Services
from gateway.planning.placement import CPU, PlacementPlan, card_index, compare
from gateway.settings import GatewaySettings, Reasoning

log = structlog.get_logger()


_ASK_MS = 2_000
_AGAIN_S = 0.5
PATIENCE_S = 30.0
"""So long the services may take to come up beside the gateway before the line is written without them."""


@dataclass(slots=True)
class _Told:
    """What services have said of themselves, by name, and what is published, by alias."""

    infos: dict[str, Info] = field(default_factory=dict)
    points: dict[str, int] = field(default_factory=dict)


async def log_start(
    settings: GatewaySettings,
    services: Services,
    pipeline: str,
    patience_s: float = PATIENCE_S,
    ask_ms: float = _ASK_MS,
) -> None:
    """Write the line. Services that do not say what they are within `patience_s` are `silent` in it.

    `pipeline`: who answers a caller who names none. `profile`: the node that planning counts with.
    """
    told = await _told_within(services, patience_s, ask_ms)
    by_model = settings.reasoning is Reasoning.VLM
    log.info(
        "started",
        version=version("loreglass"),
        profile=settings.latencies,
        pipeline=pipeline,
        reasoning=settings.reasoning.value,
        model=settings.vlm_model if by_model else None,
        model_url=settings.vlm_url if by_model else None,
        stage_models={name: each.url for name, each in settings.stage_models.items()} if by_model else {},
        sessions=settings.sessions.value,
        asks_for_keys=settings.keys is not None,
        services={name: _described(name, settings, told) for name in Services.names()},
        silent=[name for name in Services.names() if name not in told.infos],
        indexed=told.points,
    )


async def _told_within(services: Services, patience_s: float, ask_ms: float) -> _Told:
    """Ask until all have answered: those that start beside the gateway are there a little later."""
    patience = Deadline.after_ms(patience_s * 1000)
    while True:
        told = _Told()
        async with anyio.create_task_group() as group:
            for name in Services.names():
                group.start_soon(_ask, services, name, told, ask_ms)
        if len(told.infos) == len(Services.names()) or patience.remaining_s() <= _AGAIN_S:
            return told
        await anyio.sleep(_AGAIN_S)


async def _ask(services: Services, name: str, told: _Told, ask_ms: float) -> None:
    deadline = Deadline.after_ms(ask_ms)
    try:
        info = await services.about(name, deadline)
        if name in SEARCHES:
            told.points |= await services.published(name, deadline)
    except LoreglassError as error:
        log.debug("start_not_told", service=name, kind=error.kind.value)
    else:
        told.infos[name] = info


def _described(name: str, settings: GatewaySettings, told: _Told) -> dict[str, str]:
    described = {"url": getattr(settings, f"{name}_url")}
    if name in told.infos:
        info = told.infos[name]
        described |= {"engine": info.engine, "device": info.device, "version": info.version}
    return described


_EVERY_S = 30.0
_AT_START_S = 2.0
_ASK_MS = 2_000


class PlacementWatch:
    """Asks every service of the plan for its `/info`. What is not as planned is logged once, and measured."""

    def __init__(
        self, plan: PlacementPlan, services: Services, registry: CollectorRegistry, clock: Clock
    ) -> None:
        self._plan = plan
        self._services = services
        self._clock = clock
        self._told: Mapping[str, str] = {}
        self._misplaced = Gauge(
            "loreglass_placement_differs",
            "1 where a service is over its planned share of a GPU, or not on the planned one.",
            ("service",),
            registry=registry,
        )
        self._peak = Gauge(
            "loreglass_placement_peak_bytes",
            "The most that a service says it has held on the GPU on which it runs.",
            ("service", "gpu"),
            registry=registry,
        )
        self._seen_on: dict[str, str] = {}
        for name in Services.names():
            self._misplaced.labels(name).set(0)
        _tell_planned(plan, registry)

    async def check(self, deadline: Deadline) -> Note:
        """For readiness: what is not as planned; a service that does not answer has a check of its own."""
        return Note(self._compare(await self._ask(deadline)) or "ok")

    async def run(self) -> None:
        """Compare until cancelled: often until all services are up, then now and then."""
        while True:
            infos = await self._ask(Deadline.after_ms(_ASK_MS, self._clock))
            self._compare(infos)
            await anyio.sleep(_EVERY_S if len(infos) == len(Services.names()) else _AT_START_S)

    async def _ask(self, deadline: Deadline) -> dict[str, Info]:
        infos: dict[str, Info] = {}

        async def ask(name: str) -> None:
            try:
                infos[name] = await self._services.about(name, deadline)
            except LoreglassError as error:
                log.debug("placement_not_told", service=name, kind=error.kind.value)

        async with anyio.create_task_group() as group:
            for name in Services.names():
                group.start_soon(ask, name)
        return infos

    def _compare(self, infos: Mapping[str, Info]) -> str:
        found = compare(self._plan, infos)
        for name, info in infos.items():
            self._misplaced.labels(name).set(name in found)
            self._tell_peak(name, info)
            if name in found and self._told.get(name) != found[name]:
                log.warning("placement_differs", service=name, difference=found[name])
        self._told = found
        return " ".join(found[name] for name in sorted(found))

    def _tell_peak(self, name: str, info: Info) -> None:
        """A service that came up elsewhere leaves no series behind."""
        gpu = "" if info.device == CPU else str(card_index(info.device))
        before = self._seen_on.get(name, "")
        if before and before != gpu:
            self._peak.remove(name, before)
        self._seen_on[name] = gpu
        if gpu:
            self._peak.labels(name, gpu).set(info.memory_peak_mib << 20)


def _tell_planned(plan: PlacementPlan, registry: CollectorRegistry) -> None:
    planned = Gauge(
        "loreglass_placement_planned_bytes",
        "What a service may hold on its GPU by the plan.",
        ("service", "gpu"),
        registry=registry,
    )
    for name, share in plan.services.items():
        if share.gpu is not None:
            planned.labels(name, str(share.gpu)).set(share.memory_mib << 20)
