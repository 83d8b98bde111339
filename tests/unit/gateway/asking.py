"""A whole gateway in front of a scripted model server and fake services."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx

from bench.node import RunningServer, Script, ServerTraits, vlm_server
from contracts.answer import Answer
from gateway.reasoners import OpenReasoners, open_reasoners
from gateway.settings import Reasoning
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import gateway_before

Ask = Callable[..., Awaitable[Answer]]


@asynccontextmanager
async def asking(
    script: Script,
    traits: ServerTraits | None = None,
    *,
    probed: bool = True,
    reasoners: OpenReasoners = open_reasoners,
    **settings: Any,
) -> AsyncIterator[tuple[httpx.AsyncClient, RunningServer, Ask]]:
    """Start a gateway with these settings and, if `probed`, wait until it has probed the model's server."""
    async with vlm_server(script, traits) as server:
        model = {"reasoning": Reasoning.VLM, "vlm_url": server.url, "vlm_model": server.model}
        async with gateway_before(FakeServices(), reasoners=reasoners, **{**model, **settings}) as world:

            async def ask(question: str, **fields: str) -> Answer:
                return await world.ask(question, **{"deadline_ms": "60000", **fields})

            while probed and not (await world.client.get("/info")).json().get("model", {}).get("schema"):
                await anyio.lowlevel.checkpoint()
            yield world.client, server, ask
