"""The gateway's app: the public API of the platform."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from importlib.metadata import version

import structlog
from fastapi import APIRouter, FastAPI
from fastapi.middleware.cors import CORSMiddleware
from starlette.datastructures import Headers
from starlette.types import Scope

from chassis.addresses import is_loopback
from chassis.http.access import Access, Callers, check_site
from chassis.http.app import create_app as create_chassis_app
from chassis.telemetry.metrics import Metrics
from contracts.answer import DEFAULT_PIPELINE
from gateway.clients.services import Services
from gateway.routes import answer, chat, devices, memory, speech
from gateway.routes.chat import install_openai_errors, wrong_addresses
from gateway.routes.intake import caller_of
from gateway.routes.page import page_router, reference_router
from gateway.serving.tenants import Caller
from gateway.settings import GatewaySettings, Reasoning
from gateway.wiring import Gateway, wire

Wire = Callable[[GatewaySettings, Metrics], AbstractAsyncContextManager[Gateway]]

log = structlog.get_logger()


def create_app(settings: GatewaySettings, wire: Wire = wire, further: Sequence[APIRouter] = ()) -> FastAPI:
    """Return the gateway's app. `further`: routes of this deployment only. Tests replace `wire`."""
    metrics = Metrics("gateway")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with wire(settings, metrics) as gateway:
            app.state.gateway = gateway
            app.state.ready_checks = gateway.checks
            _log_start(settings)
            yield

    pages = (page_router(), reference_router())
    ours = [each.router for each in (answer, chat, devices, memory, speech)]
    routers = [*ours, *pages, wrong_addresses]

    def model() -> Mapping[str, str]:
        wired: Gateway | None = getattr(app.state, "gateway", None)  # None until it has started
        return wired.model() if wired is not None else {}

    app = create_chassis_app(
        "gateway",
        settings,
        [*routers, *further],
        lifespan,
        metrics,
        _engine(settings),
        model=model,
        described_to=caller_of,
        callers=_callers(settings),
    )
    install_openai_errors(app)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
            expose_headers=["*"],
        )
    return app


def _log_start(settings: GatewaySettings) -> None:
    """Log what runs here, without keys and passwords. `profile`: the latencies that planning starts from."""
    if settings.keys is None and not is_loopback(settings.host):
        log.warning("gateway_without_keys", host=settings.host, setting="LOREGLASS_GATEWAY_KEYS")
    by_model = settings.reasoning is Reasoning.VLM
    log.info(
        "started",
        version=version("loreglass"),
        profile=settings.latencies,
        pipeline=DEFAULT_PIPELINE,
        reasoning=settings.reasoning.value,
        model=settings.vlm_model if by_model else None,
        model_url=settings.vlm_url if by_model else None,
        stage_models={name: each.url for name, each in settings.stage_models.items()} if by_model else {},
        sessions=settings.sessions.value,
        asks_for_keys=settings.keys is not None,
        services={name: getattr(settings, f"{name}_url") for name in Services.names()},
    )


def _callers(settings: GatewaySettings) -> Callers:
    """Return what is known before a request is read: its site, or its key, so its tenant."""
    access = Access(hosts=frozenset(map(str.lower, settings.hosts)))
    site = check_site(access, "gateway", settings.origins)
    if settings.keys is None:
        return Callers(check=site)

    def holder(scope: Scope) -> Caller | None:
        gateway: Gateway = scope["app"].state.gateway
        return gateway.keys.holder(Headers(scope=scope).get("authorization"))

    def tenant_of(scope: Scope) -> str:
        caller = holder(scope)
        return caller.tenant if caller else ""

    def sees_tenants(scope: Scope) -> bool:
        caller = holder(scope)
        return caller is not None and caller.operator

    callers = Callers(tenant_of, sees_tenants, settings.tenant_upload_share)
    return replace(callers, check=site) if settings.local_without_key else callers


def _engine(settings: GatewaySettings) -> str:
    """Return the names of the models, each further one with its stages."""
    if settings.reasoning is not Reasoning.VLM:
        return settings.reasoning.value
    others = (f"{each.model} ({', '.join(each.stages)})" for each in settings.stage_models.values())
    return "; ".join((settings.vlm_model, *others))
