"""A gateway on a real socket in front of fake services, and questions to it."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx

from chassis.errors import DependencyUnavailable
from chassis.http.serving import BoundApp, listen, running
from chassis.keys import ApiKey
from chassis.resilience.deadlines import Clock
from clients.keys import entry
from contracts.answer import Answer
from gateway.app import create_app
from gateway.llm.prompt import VlmOptions
from gateway.reasoners import OpenReasoners, PaperModel, Reasoners
from gateway.reasoning.lite.reasoner import LiteReasoner
from gateway.reasoning.port import Read
from gateway.serving.guards import Guards
from gateway.settings import GatewaySettings
from gateway.wiring import wire
from tests.live import NO_TLS
from tests.unit.chassis.pictures import encoded, scene
from tests.unit.gateway.fakes import FakeServices, Mood, service_settings
from tests.unit.gateway.reasoners import ScriptedReasoner

PHOTO = encoded(scene(320, 240), "JPEG", quality=90)
QUESTION = "Who wrote this book?"


@dataclass(frozen=True, slots=True)
class World:
    """The gateway's client, what it talks to, and what reasons in it."""

    client: httpx.AsyncClient
    services: FakeServices
    reasoner: ScriptedReasoner

    @property
    def url(self) -> str:
        """Where the gateway is."""
        return str(self.client.base_url)

    async def post(
        self, question: str | None = QUESTION, photo: bytes | None = PHOTO, **fields: str
    ) -> httpx.Response:
        """The raw reply to a multipart question."""
        files = {"image": ("photo.jpg", photo, "image/jpeg")} if photo is not None else None
        data = {**({"question": question} if question is not None else {}), **fields}
        if files is None:
            return await self.client.post(
                "/answer", files=[(key, (None, text)) for key, text in data.items()]
            )
        return await self.client.post("/answer", files=files, data=data)

    async def ask(self, question: str = QUESTION, photo: bytes | None = PHOTO, **fields: str) -> Answer:
        """The answer to a question that must have one."""
        reply = await self.post(question, photo, **fields)
        assert reply.status_code == 200, reply.text
        return Answer.model_validate_json(reply.content)

    async def in_flight(self) -> float:
        """Requests that the gateway works on, the one that asks left out."""
        lines = (await self.client.get("/metrics")).text.splitlines()
        value = next(line for line in lines if line.startswith("loreglass_requests_in_flight{"))
        return float(value.split()[-1]) - 1

    async def quiet(self) -> None:
        """Wait until nothing is in flight."""
        with anyio.fail_after(30):
            while await self.in_flight():
                await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def held_question(world: World) -> AsyncIterator[None]:
    """While the body runs, one question waits for text search."""
    world.services.text_search.mood, world.services.text_search.arrived = Mood.HELD, anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(world.post)
        with anyio.fail_after(20):
            await world.services.text_search.arrived.wait()
        yield
        world.services.text_search.release.set()


class AwayModel:
    """A model of the published pipelines that cannot be reached."""

    sees_photos = True

    async def complete(self, *_: object) -> Any:
        """Raise what a client raises."""
        raise DependencyUnavailable


@asynccontextmanager
async def gateway_before(
    services: FakeServices,
    reasoner: ScriptedReasoner | None = None,
    down: Mapping[str, str] | None = None,
    fallback: bool = False,
    pocket: bool = False,
    wall_clock: Clock = time.time,
    reasoners: OpenReasoners | None = None,
    **settings: Any,
) -> AsyncIterator[World]:
    """A gateway in front of `services`; those in `down` are looked for where the mapping says.

    `fallback`: the scripted reasoner passes for a model, with the lite reasoner as its fallback; the model of
    the published pipelines is away. `pocket`: the lite reasoner alone. `reasoners`: opens others instead.

    Questions that name no deadline have a minute, so that none is late because the machine is loaded.
    """
    thinking = reasoner or ScriptedReasoner()
    behind = BoundApp(services.app(), listen("127.0.0.1", 0))
    chosen = GatewaySettings(
        **{"answer_deadline_ms": 60_000, **service_settings(behind.url, down), **settings}
    )

    def scripted(_: GatewaySettings, http: httpx.AsyncClient, guards: Guards, read: Read) -> Reasoners:
        if pocket:
            return Reasoners(LiteReasoner(read))
        behind = LiteReasoner(read) if fallback else None
        return Reasoners(thinking, behind, PaperModel(AwayModel(), VlmOptions()))

    app = create_app(chosen, partial(wire, open_reasoners=reasoners or scripted, wall_clock=wall_clock))
    bound = BoundApp(app, listen("127.0.0.1", 0))
    async with (
        running([behind, bound]),
        httpx.AsyncClient(base_url=bound.url, timeout=60, verify=NO_TLS) as client,
    ):
        yield World(client, services, thinking)


async def ask_gateway(
    services: FakeServices,
    reasoner: ScriptedReasoner | None = None,
    question: str = QUESTION,
    **settings: Any,
) -> Answer:
    """Ask one question of a gateway with these settings."""
    async with gateway_before(services, reasoner, **settings) as world:
        return await world.ask(question)


def keys_file(folder: Path, **keys: ApiKey) -> Path:
    """Write a keys file with one key for each tenant."""
    file = folder / "keys.toml"
    file.write_text("\n".join(entry(key, tenant, "interactive") for tenant, key in keys.items()))
    return file


def bearer(key: ApiKey) -> dict[str, str]:
    """Return the header with which a tenant asks."""
    return {"Authorization": f"Bearer {key.text}"}
