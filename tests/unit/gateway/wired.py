"""The composition root without its web app: what `wire` puts together, before services that nobody asks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from chassis.telemetry.metrics import Metrics
from gateway.settings import GatewaySettings
from gateway.wiring import Gateway, wire


@asynccontextmanager
async def wired_gateway(**settings: Any) -> AsyncIterator[Gateway]:
    """The gateway of these settings."""
    async with wire(GatewaySettings(**settings), Metrics("gateway")) as gateway:
        yield gateway
