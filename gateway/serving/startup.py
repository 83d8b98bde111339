"""What a gateway has been put together from, in one line of its log, as soon as that is known."""

from dataclasses import dataclass, field
from importlib.metadata import version

import anyio
import structlog

from chassis.errors import LoreglassError
from chassis.resilience.deadlines import Deadline
from contracts.operations import Info
from gateway.clients.services import SEARCHES, Services
from gateway.settings import GatewaySettings, Reasoning

_ASK_MS = 2_000
_AGAIN_S = 0.5
PATIENCE_S = 30.0
"""So long the services may take to come up beside the gateway before the line is written without them."""

log = structlog.get_logger()


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
