"""The gateway: the one public door of the platform."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import fields
from functools import partial

from fastapi import FastAPI

from chassis.app import create_app as create_chassis_app
from chassis.metrics import Metrics
from gateway.clients.services import Services
from gateway.routes import answer, sessions, traces
from gateway.settings import GatewaySettings
from gateway.wiring import Gateway, wire

Wire = Callable[[GatewaySettings], AbstractAsyncContextManager[Gateway]]


def create_app(settings: GatewaySettings, wire: Wire = wire) -> FastAPI:
    """The gateway's app; `wire` is replaceable, so that tests can exchange parts."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with wire(settings) as gateway:
            app.state.gateway = gateway
            app.state.ready_checks = {
                service.name: partial(gateway.services.ready, service.name) for service in fields(Services)
            }
            yield

    routers = [answer.router, sessions.router, traces.router]
    return create_chassis_app("gateway", settings, routers, lifespan, Metrics("gateway"))
