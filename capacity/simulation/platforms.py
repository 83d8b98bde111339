"""One simulated node: the real gateway, whole, in front of stand-ins for all that it calls."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from io import BytesIO

from PIL import Image
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from capacity.simulation.load import Arrival, Load
from capacity.simulation.outcomes import End, Outcome
from capacity.simulation.transport import node_client, service_url
from capacity.standins import QUESTIONS, SERVICES, Calibration, Node
from chassis.errors import LoreglassError, Overloaded
from chassis.http.client import HttpClient
from chassis.resilience.deadlines import Clock, Deadline
from chassis.telemetry.metrics import Metrics
from chassis.telemetry.tracing import TRACE_ID
from contracts.answer import Answer
from gateway.planning.run import ignore_events
from gateway.reasoners import Reasoners, open_reasoners
from gateway.reasoning.port import Read
from gateway.serving.execution import Question
from gateway.serving.guards import Guards
from gateway.settings import GatewaySettings, Reasoning
from gateway.state import Photo
from gateway.wiring import Gateway, wire

_PHOTO_SIDE = 32
"""Pixels: stand-ins look at no photo, and its bytes cost real time."""


class Platform:
    """A node at work. `asked`: questions that it has not finished yet."""

    def __init__(self, gateway: Gateway, node: Node, clock: Clock) -> None:
        self.node = node
        self.asked = 0
        self._gateway = gateway
        self._clock = clock

    def refusal(self, pipeline: str) -> str:
        """Why it cannot answer with that pipeline, a sentence; empty if it can."""
        known = self._gateway.execution.pipelines
        if pipeline in known:
            return ""
        return f"There is no pipeline {pipeline!r}; there are {', '.join(sorted(known))}."

    async def ask(self, arrival: Arrival, load: Load, due: float) -> Outcome:
        """Ask as the route does, once the photo is decoded. `due`: when the question came, on the clock."""
        self.asked += 1
        try:
            end, degraded = await self._end(arrival, load, due)
        finally:
            self.asked -= 1
        ms = (self._clock() - due) * 1000
        return Outcome(arrival.route, End.FAILED if ms > load.deadline_ms else end, ms, degraded)

    async def _end(self, arrival: Arrival, load: Load, due: float) -> tuple[End, bool]:
        trace_id = f"{arrival.number:032x}"
        TRACE_ID.set(trace_id)
        deadline = Deadline(due + load.deadline_ms / 1000, self._clock)
        text, photo = QUESTIONS[arrival.route], _photo(arrival.number)
        question = Question(text, photo, None, load.deadline_ms, load.pipeline)
        try:
            admitted = await self._gateway.execution.admit(question)
            answer = await self._gateway.execution.answer(admitted, trace_id, deadline, ignore_events)
        except Overloaded:
            return End.SHED, False
        except LoreglassError:
            return End.FAILED, False
        return _end_of(answer), bool(answer.degraded)


@asynccontextmanager
async def open_platform(
    settings: GatewaySettings, calibration: Calibration, seed: int, clock: Clock
) -> AsyncIterator[Platform]:
    """A fresh node that nobody has asked anything yet, nor will but for questions."""
    node = Node(calibration, seed, clock)

    def reasoners(settings: GatewaySettings, http: HttpClient, guards: Guards, read: Read) -> Reasoners:
        return replace(open_reasoners(settings, http, guards, read), keep_probing=None)

    async with wire(
        settings, Metrics("gateway"), lambda: node_client(node.handle), reasoners, clock
    ) as gateway:
        yield Platform(gateway, node, clock)


class _SettingsAsGiven(GatewaySettings):
    """Without the environment: a gateway's variables there are another gateway's."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def node_settings(calibration: Calibration, **chosen: object) -> GatewaySettings:
    """The settings of a gateway in front of such a node, whatever the environment says; `chosen` win."""
    given: dict[str, object] = {f"{service}_url": service_url(service) for service in SERVICES}
    given |= {
        "reasoning": Reasoning.VLM,
        "vlm_model": calibration.model,
        "vlm_sequences": calibration.sequences,
        "vlm_speed": calibration.speed,
        "latencies": "l40s",
        "photo_to_domain_router": True,
        "photo_to_reranker": True,
    }
    return _SettingsAsGiven.model_validate(given | chosen)


def _end_of(answer: Answer) -> End:
    return End.REFUSED if answer.abstained else End.ANSWERED


@cache
def _picture() -> bytes:
    jpeg = BytesIO()
    Image.new("RGB", (_PHOTO_SIDE, _PHOTO_SIDE), "grey").save(jpeg, "JPEG")
    return jpeg.getvalue()


def _photo(number: int) -> Photo:
    """No two alike, as far as caches go: the number follows the picture's end, where no decoder looks."""
    jpeg = _picture() + number.to_bytes(8, "big")
    return Photo(jpeg, _PHOTO_SIDE, _PHOTO_SIDE, hashlib.sha256(jpeg).hexdigest())
