"""What a question costs at servers that hold no schema: `python -m tests.vlm_server.cost`.

Requests and bytes sent for the first question and for the next, over the default pipeline's direct and rag
routes. The real gateway; model and services are scripted.
"""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import anyio
import httpx

from chassis.http.serving import BoundApp, listen, running
from chassis.telemetry.logs import configure_logging
from contracts.answer import Answer
from gateway.app import create_app
from gateway.settings import GatewaySettings, Reasoning
from tests.unit.gateway.fakes import FakeServices, service_settings
from tests.unit.gateway.model_replies import READ, UNKNOWN, replies
from tests.unit.gateway.platform import PHOTO
from tests.vlm_server import ServerTraits, vlm_server
from tests.vlm_server.server import LLAMA_ON_VLLM_0_10_2, RunningServer, Script

SERVERS = {
    "vLLM 0.10.2, Llama, first template": LLAMA_ON_VLLM_0_10_2,
    "vLLM 0.10.2, Llama, new template": replace(LLAMA_ON_VLLM_0_10_2, system_beside_photo=True),
    "refuses schemas": ServerTraits(json_schema=False, json_object=False),
}
ROUTES: dict[str, tuple[dict[str, Any], str]] = {
    "direct": (READ, "What does the cover say?"),
    "rag": (UNKNOWN, "Who wrote this book?"),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one question. `written_by_model` False: the model could not be had, and evidence was quoted."""

    requests: int
    refused: int
    bytes_sent: int
    written_by_model: bool


Ask = Callable[[str], Awaitable[Answer]]


@asynccontextmanager
async def asking(
    script: Script, traits: ServerTraits, *, probed: bool = True
) -> AsyncIterator[tuple[httpx.AsyncClient, RunningServer, Ask]]:
    """A gateway that has just started, and probed the model's server, with that server."""
    services = FakeServices()
    async with vlm_server(script, traits) as server:
        behind = BoundApp(services.app(), listen("127.0.0.1", 0))
        settings = GatewaySettings(
            **service_settings(behind.url, None),  # type: ignore[arg-type]
            reasoning=Reasoning.VLM,
            vlm_url=server.url,
            vlm_model=server.model,
        )
        bound = BoundApp(create_app(settings), listen("127.0.0.1", 0))
        async with running([behind, bound]), httpx.AsyncClient(base_url=bound.url, timeout=60) as client:

            async def ask(question: str) -> Answer:
                form = {"question": question, "deadline_ms": "60000"}
                reply = await client.post(
                    "/answer", files={"image": ("p.jpg", PHOTO, "image/jpeg")}, data=form
                )
                return Answer.model_validate_json(reply.content)

            if probed:
                await _probed(client)
            yield client, server, ask


async def costs(traits: ServerTraits, look: dict[str, Any], question: str, *, count: int = 2) -> list[Cost]:
    """Of the same question, asked `count` times."""
    async with asking(replies(look), traits) as (_, server, ask):
        return [await _cost(server, ask, question) for _ in range(count)]


async def _probed(client: httpx.AsyncClient) -> None:
    with anyio.move_on_after(10):  # for as long as there are gateways to compare with that do not probe
        while not (await client.get("/info")).json().get("model", {}).get("schema"):
            await anyio.lowlevel.checkpoint()


async def _cost(server: RunningServer, ask: Ask, question: str) -> Cost:
    before = len(server.requests)
    answer = await ask(question)
    sent = server.requests[before:]
    size = sum(len(json.dumps(request.body)) for request in sent)
    return Cost(len(sent), sum(request.refused for request in sent), size, not answer.degraded)


def main() -> None:
    """Print them."""
    configure_logging("error")
    sys.stdout.write(
        f"{'server':36} {'route':7} {'question':9} requests  refused  bytes sent  by the model\n"
    )
    for name, traits in SERVERS.items():
        for route, (look, question) in ROUTES.items():
            measured = anyio.run(partial(costs, traits, look, question))
            for which, cost in zip(("first", "next"), measured, strict=True):
                sys.stdout.write(
                    f"{name:36} {route:7} {which:9} {cost.requests:8} {cost.refused:8} {cost.bytes_sent:11,}"
                    f"  {'yes' if cost.written_by_model else 'no'}\n"
                )


if __name__ == "__main__":
    main()
