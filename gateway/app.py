"""The gateway: the one public door of the platform."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import FastAPI

from chassis.http.app import create_app as create_chassis_app
from chassis.telemetry.metrics import Metrics
from gateway.routes import answer, chat, sessions, traces
from gateway.settings import GatewaySettings, Reasoning
from gateway.wiring import Gateway, wire

Wire = Callable[[GatewaySettings, Metrics], AbstractAsyncContextManager[Gateway]]


def create_app(settings: GatewaySettings, wire: Wire = wire) -> FastAPI:
    """The gateway's app; `wire` is replaceable, so that tests can exchange parts."""
    metrics = Metrics("gateway")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with wire(settings, metrics) as gateway:
            app.state.gateway = gateway
            app.state.ready_checks = gateway.checks
            yield

    routers = [answer.router, chat.router, sessions.router, traces.router]
    engine = settings.vlm_model if settings.reasoning is Reasoning.VLM else settings.reasoning.value
    return create_chassis_app("gateway", settings, routers, lifespan, metrics, engine)
