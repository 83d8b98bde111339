"""The services' `/info`: logged once at start, and compared with the placement plan."""

from collections.abc import Mapping
from importlib.metadata import version

import anyio
import structlog
from prometheus_client import CollectorRegistry, Gauge

from chassis.errors import LoreglassError
from chassis.http.access import is_loopback
from chassis.http.health import Note
from chassis.resilience.deadlines import Deadline
from contracts.operations import Info
from gateway.clients.services import SEARCHES, Services
from gateway.planning.placement import CPU, PlacementPlan, card_index, compare
from gateway.settings import GatewaySettings, Reasoning

log = structlog.get_logger()


_ASK_MS = 2_000
_AGAIN_S = 0.5
PATIENCE_S = 30.0
"""How long the start line waits for services that start beside the gateway."""


async def log_start(
    settings: GatewaySettings,
    services: Services,
    pipeline: str,
    patience_s: float = PATIENCE_S,
    ask_ms: float = _ASK_MS,
) -> None:
    """Write the line. Services that do not answer within `patience_s` are listed as `silent`.

    `pipeline`: the default one. `profile`: the latency table that planning starts from.
    """
    if settings.keys is None and not is_loopback(settings.host):
        log.warning("gateway_without_keys", host=settings.host, setting="LOREGLASS_GATEWAY_KEYS")
    infos = await _infos_within(services, patience_s, ask_ms)
    indexed: dict[str, int] = {}
    for name in SEARCHES:
        indexes = await _indexes(services, name, ask_ms) if name in infos else {}
        if indexes is None:
            del infos[name]
        else:
            indexed |= indexes
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
        services={
            name: _description(getattr(settings, f"{name}_url"), infos.get(name)) for name in Services.names()
        },
        silent=[name for name in Services.names() if name not in infos],
        indexed=indexed,
    )


async def service_infos(services: Services, deadline: Deadline) -> dict[str, Info]:
    """Return each service's `/info` by name. Services that do not answer are left out."""
    infos: dict[str, Info] = {}

    async def ask(name: str) -> None:
        try:
            infos[name] = await services.about(name, deadline)
        except LoreglassError as error:
            log.debug("service_info_missing", service=name, kind=error.kind.value)

    async with anyio.create_task_group() as group:
        for name in Services.names():
            group.start_soon(ask, name)
    return infos


async def _infos_within(services: Services, patience_s: float, ask_ms: float) -> dict[str, Info]:
    """Ask until all services answer: those that start beside the gateway need a little longer."""
    patience = Deadline.after_ms(patience_s * 1000)
    while True:
        infos = await service_infos(services, Deadline.after_ms(ask_ms))
        if len(infos) == len(Services.names()) or patience.remaining_s() <= _AGAIN_S:
            return infos
        await anyio.sleep(_AGAIN_S)


async def _indexes(services: Services, name: str, ask_ms: float) -> dict[str, int] | None:
    """Return the points of a search service's published indexes; None if it does not answer."""
    try:
        return await services.published(name, Deadline.after_ms(ask_ms))
    except LoreglassError as error:
        log.debug("published_missing", service=name, kind=error.kind.value)
        return None


def _description(url: str, info: Info | None) -> dict[str, str]:
    if info is None:
        return {"url": url}
    return {"url": url, "engine": info.engine, "device": info.device, "version": info.version}


_EVERY_S = 30.0
_AT_START_S = 2.0


class PlacementWatch:
    """Compares each service's `/info` with the plan; differences are logged once and counted."""

    def __init__(self, plan: PlacementPlan, services: Services, registry: CollectorRegistry) -> None:
        self._plan = plan
        self._services = services
        self._differences: Mapping[str, str] = {}
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
        self._gpu_of: dict[str, str] = {}
        for name in Services.names():
            self._misplaced.labels(name).set(0)
        _set_planned(plan, registry)

    async def check(self, deadline: Deadline) -> Note:
        """Return what differs from the plan, for readiness. A silent service fails its own check."""
        return Note(self._compare(await service_infos(self._services, deadline)) or "ok")

    async def run(self) -> None:
        """Compare until cancelled: often until all services are up, then now and then."""
        while True:
            infos = await service_infos(self._services, Deadline.after_ms(_ASK_MS))
            self._compare(infos)
            await anyio.sleep(_EVERY_S if len(infos) == len(Services.names()) else _AT_START_S)

    def _compare(self, infos: Mapping[str, Info]) -> str:
        differences = compare(self._plan, infos)
        for name, info in infos.items():
            self._misplaced.labels(name).set(name in differences)
            self._set_peak(name, info)
            if name in differences and self._differences.get(name) != differences[name]:
                log.warning("placement_differs", service=name, difference=differences[name])
        self._differences = differences
        return " ".join(differences[name] for name in sorted(differences))

    def _set_peak(self, name: str, info: Info) -> None:
        """A service that came up elsewhere leaves no series behind."""
        gpu = "" if info.device == CPU else str(card_index(info.device))
        before = self._gpu_of.get(name, "")
        if before and before != gpu:
            self._peak.remove(name, before)
        self._gpu_of[name] = gpu
        if gpu:
            self._peak.labels(name, gpu).set(info.memory_peak_mib << 20)


def _set_planned(plan: PlacementPlan, registry: CollectorRegistry) -> None:
    planned = Gauge(
        "loreglass_placement_planned_bytes",
        "What a service may hold on its GPU by the plan.",
        ("service", "gpu"),
        registry=registry,
    )
    for name, share in plan.services.items():
        if share.gpu is not None:
            planned.labels(name, str(share.gpu)).set(share.memory_mib << 20)
