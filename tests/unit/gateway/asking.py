"""A whole gateway in front of a scripted model server and fake services."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import httpx

from bench.node import RunningServer, Script, ServerTraits, vlm_server
from chassis.http.serving import BoundApp, listen, running
from contracts.answer import Answer
from gateway.app import create_app
from gateway.reasoners import OpenReasoners, open_reasoners
from gateway.settings import GatewaySettings, Reasoning
from gateway.wiring import wire
from tests.unit.gateway.fakes import FakeServices, service_settings
from tests.unit.gateway.platform import PHOTO

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
    services = FakeServices()
    async with vlm_server(script, traits) as server:
        behind = BoundApp(services.app(), listen("127.0.0.1", 0))
        model = {"reasoning": Reasoning.VLM, "vlm_url": server.url, "vlm_model": server.model}
        fields: dict[str, Any] = {**service_settings(behind.url, None), **model, **settings}
        app = create_app(GatewaySettings(**fields), partial(wire, open_reasoners=reasoners))
        bound = BoundApp(app, listen("127.0.0.1", 0))
        async with running([behind, bound]), httpx.AsyncClient(base_url=bound.url, timeout=60) as client:

            async def ask(question: str, **fields: str) -> Answer:
                form = {"question": question, "deadline_ms": "60000", **fields}
                reply = await client.post(
                    "/answer", files={"image": ("p.jpg", PHOTO, "image/jpeg")}, data=form
                )
                return Answer.model_validate_json(reply.content)

            while probed and not (await client.get("/info")).json().get("model", {}).get("schema"):
                await anyio.lowlevel.checkpoint()
            yield client, server, ask
