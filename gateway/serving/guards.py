"""The guards before each service and the model; the services' `/info` beside the placement plan."""

from collections.abc import Mapping

import anyio
import structlog
from prometheus_client import CollectorRegistry

from chassis.errors import LoreglassError
from chassis.http.calls import ServiceClient
from chassis.http.client import HttpClient
from chassis.http.health import Note
from chassis.resilience.breaker import Breaker, RetryBudget
from chassis.resilience.deadlines import Deadline
from chassis.resilience.gates import Gate
from chassis.resilience.guard import Guard
from chassis.resilience.limits import GradientLimit
from chassis.telemetry.metrics import GuardMetrics, gauge, series_of
from contracts.operations import Info
from gateway.clients.services import PhotoRecipients, Services
from gateway.planning.placement import CPU, Cards, PlacementPlan, card_index, compare
from gateway.settings import GatewaySettings

_MOST_WAITING = 64
"""Calls to one service that wait for others to end; several for each question in flight."""

_ON_CARD = ("service", "gpu")
_CARDS = (
    gauge(
        "loreglass_card_in_use_seconds",
        "Expected GPU time of the small models' calls that are on a card now.",
        ("gpu",),
    ),
)
_PLACEMENT = (
    gauge(
        "loreglass_placement_differs",
        "1 where a service is over its planned share of a GPU, or not on the planned one.",
        ("service",),
    ),
    gauge("loreglass_placement_peak_bytes", "Peak GPU memory that a service reports.", _ON_CARD),
    gauge("loreglass_placement_planned_bytes", "Planned GPU memory of a service.", _ON_CARD),
)


class Guards:
    """Creates guards, with their metrics in `registry` and slots on the cards of the placement plan."""

    def __init__(self, registry: CollectorRegistry, cards: Cards | None) -> None:
        self.registry = registry
        self._cards = cards
        self._metrics = GuardMetrics(registry)
        if cards is not None:
            series = series_of(registry, _CARDS)
            for gpu, gate in cards.gates.items():
                in_use = series("loreglass_card_in_use_seconds", str(gpu))
                in_use.set_function(lambda gate=gate: gate.in_use / 1000)

    def adaptive(self, name: str) -> Guard:
        """Return the guard of a service: it learns how many calls the service can have at once."""
        limit = GradientLimit()
        return self.guard(name, limit.value, limit, self._cards.slot(name) if self._cards else None)

    def guard(
        self, name: str, at_once: float, limit: GradientLimit | None = None, card: Gate | None = None
    ) -> Guard:
        """Return the guard of a server that takes `at_once` calls, or learns how many if it has a `limit`.

        The calls of a model have no `limit`: their time depends on the length of the reply, not on the load.
        """
        self._metrics.start(name, at_once)
        return Guard(
            name,
            breaker=Breaker(),
            gate=Gate(name, at_once, _MOST_WAITING),
            limit=limit,
            card=card,
            retries=RetryBudget(),
            observe=self._metrics.observe,
        )

    def weigh(self, service: str, items: int) -> float:
        """Return the milliseconds that a call is expected to keep its card busy; 0 where it needs none."""
        return self._cards.weight_ms(service, items) if self._cards else 0.0


def open_services(settings: GatewaySettings, http: HttpClient, guards: Guards) -> Services:
    """Return a guarded client of each service."""
    token = settings.services.read_token()

    def client(name: str) -> ServiceClient:
        return ServiceClient(http, name, getattr(settings, f"{name}_url"), guards.adaptive(name), token)

    return Services(
        **{name: client(name) for name in Services.names()},
        web_search=client("web_search") if settings.web_search_url else None,
        photo_to=PhotoRecipients(settings.photo_to_domain_router, settings.photo_to_reranker),
        weigh=guards.weigh,
    )


log = structlog.get_logger()

_ASK_MS = 2_000
_EVERY_S = 30.0
_AT_START_S = 2.0


class PlacementWatch:
    """Compares each service's `/info` with the plan; differences are logged once and counted."""

    def __init__(self, plan: PlacementPlan, services: Services, registry: CollectorRegistry) -> None:
        self._plan = plan
        self._services = services
        self._differences: Mapping[str, str] = {}
        series = series_of(registry, _PLACEMENT)
        self._misplaced = series("loreglass_placement_differs")
        self._peak = series("loreglass_placement_peak_bytes")
        for name in Services.names():
            self._misplaced.labels(name).set(0)
        for name, share in plan.services.items():
            if share.gpu is not None:
                planned = series("loreglass_placement_planned_bytes", name, str(share.gpu))
                planned.set(share.memory_mib << 20)

    async def check(self, deadline: Deadline) -> Note:
        """Return what differs from the plan, for readiness. A silent service fails its own check."""
        return Note(self._compare(await _infos(self._services, deadline)) or "ok")

    async def run(self) -> None:
        """Compare until cancelled: often until all services are up, then now and then."""
        while True:
            infos = await _infos(self._services, Deadline.after_ms(_ASK_MS))
            self._compare(infos)
            await anyio.sleep(_EVERY_S if len(infos) == len(Services.names()) else _AT_START_S)

    def _compare(self, infos: Mapping[str, Info]) -> str:
        differences = compare(self._plan, infos)
        self._peak.clear()
        for name, info in infos.items():
            self._misplaced.labels(name).set(name in differences)
            if info.device != CPU:
                self._peak.labels(name, str(card_index(info.device))).set(info.memory_peak_mib << 20)
            if name in differences and self._differences.get(name) != differences[name]:
                log.warning("placement_differs", service=name, difference=differences[name])
        self._differences = differences
        return " ".join(differences[name] for name in sorted(differences))


async def _infos(services: Services, deadline: Deadline) -> dict[str, Info]:
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
