"""The node's times and concurrency."""

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

import anyio

from gateway.clients.services import Services
from gateway.planning.latencies import VlmSpeed, load_latencies

SERVICES = tuple(Services.names())
VLM = "vlm"
_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Time:
    """Milliseconds of one call: `fixed_ms + item_ms * items`, `workers` calls at once."""

    fixed_ms: float = 0.0
    item_ms: float = 0.0
    workers: float = math.inf


@dataclass(frozen=True, slots=True)
class Pace:
    """The node's times in milliseconds. By default it replies at once.

    `sequences`: replies that the model writes at once; further requests wait. `slowdown`: by how much each
    further reply lengthens a token, and the small models on the same card. `tokens_per_event`: tokens in one
    event of a stream, as vLLM's `stream_interval`.
    """

    photo_ms: float = 0.0
    prompt_ms_per_1k: float = 0.0
    token_ms: float = 0.0
    sequences: float = math.inf
    slowdown: float = 0.0
    tokens_per_event: int = 1
    services: Mapping[str, Time] = field(default_factory=lambda: MappingProxyType({}))

    def service(self, name: str) -> Time:
        return self.services.get(name, Time())


def l40s() -> Pace:
    """Return the times that the gateway expects of an L40S with an 11B model in fp8."""
    latencies, speed = load_latencies("l40s"), VlmSpeed()
    workers = {"ocr": 4, "text_search": 4, "verifier": 4}
    times = {name: latencies.service(name) for name in SERVICES}
    return Pace(
        photo_ms=speed.vision_ms,
        prompt_ms_per_1k=speed.prefill_ms_per_1k,
        token_ms=speed.decode_ms_per_token,
        sequences=8,
        slowdown=0.1,
        tokens_per_event=4,
        services={
            name: Time(each.fixed_ms, each.item_ms, workers.get(name, 2)) for name, each in times.items()
        },
    )


PACES: Mapping[str, Callable[[], Pace]] = {"instant": Pace, "l40s": l40s}


class Engine:
    """The model's time. At most `sequences` replies are written at once; the others wait."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self._places = anyio.CapacityLimiter(pace.sequences)

    @asynccontextmanager
    async def prompt(self, text: str, photos: int) -> AsyncIterator[None]:
        """Wait for a place, read the prompt, and keep the place until the reply is written."""
        tokens = len(text) / _CHARACTERS_A_TOKEN
        async with self._places:
            await sleep_ms(self.pace.photo_ms * photos + self.pace.prompt_ms_per_1k * tokens / 1000)
            yield

    async def write(self, tokens: int) -> None:
        """Take as long as writing so many tokens takes."""
        further = max(0, self._places.borrowed_tokens - 1)
        await sleep_ms(self.pace.token_ms * tokens * (1 + self.pace.slowdown * further))


async def sleep_ms(milliseconds: float) -> None:
    """Sleep, or return at once."""
    if milliseconds > 0:
        await anyio.sleep(milliseconds / 1000)
