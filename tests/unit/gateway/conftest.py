"""What the gateway's tests share."""

import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, closing
from typing import Any, ClassVar

import pytest
from openai import AsyncOpenAI
from redis.asyncio import Redis

from chassis.images import PhotoDecoders
from gateway import wiring
from gateway.planning import stages
from gateway.planning.stages import Stage, StageBudget
from gateway.serving.redis_store import connect
from gateway.steps import photo
from tests.speech_servers import SpeechServers
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import QUESTION, World, gateway_before
from tests.unit.gateway.sessions.harness import Backend, MemoryBackend, RedisBackend, running_redis


@pytest.fixture
async def services(anyio_backend: object) -> FakeServices:
    """Services that work and find one book."""
    return FakeServices()


@pytest.fixture
async def world(services: FakeServices) -> AsyncIterator[World]:
    """A gateway in front of services that work."""
    async with gateway_before(services) as made:
        yield made


@pytest.fixture
async def client(world: World) -> AsyncIterator[AsyncOpenAI]:
    """OpenAI's own client of the gateway."""
    async with AsyncOpenAI(base_url=f"{world.url}/v1", api_key="none", max_retries=0) as made:
        yield made


@pytest.fixture
async def servers(anyio_backend: object) -> SpeechServers:
    """Speech servers that hear the usual question."""
    return SpeechServers(words=QUESTION)


class _SharedDecoders(PhotoDecoders):
    """Photo decoders that leave their idle processes to the next gateway."""

    idle: ClassVar[list[Any]] = []

    def __init__(self, *options: Any) -> None:
        super().__init__(*options)
        self._decoders._idle = self.idle
        self.close = self._end_busy

    def _end_busy(self) -> None:
        self._decoders._idle = []
        self._decoders.close()


@pytest.fixture(scope="session", autouse=True)
def shared_decoders() -> Iterator[None]:
    """Share photo decoders among gateways: starting a process takes longer than most of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wiring, "PhotoDecoders", _SharedDecoders)
        yield
    with closing(PhotoDecoders(1)) as last:
        last._decoders._idle = _SharedDecoders.idle


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lifts every stage's cap: on a loaded machine no stage may fail but the one that a test means."""
    for stage, budget in stages.STAGE_BUDGETS.items():
        monkeypatch.setitem(stages.STAGE_BUDGETS, stage, StageBudget(60_000, budget.reserve))
    monkeypatch.setattr(photo, "CLASSIFY_MS", 60_000)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, unhurried: None) -> Callable[[Stage], None]:
    """Gives a stage 100 ms, so that a test of a hanging one need not wait for its usual cap."""

    def shorten(stage: Stage) -> None:
        monkeypatch.setitem(stages.STAGE_BUDGETS, stage, StageBudget(100, 0))

    return shorten


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Redis for the whole run."""
    with running_redis(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture
async def redis_client(redis_url: str, anyio_backend: object) -> AsyncIterator[Redis]:
    """A client of this test's own, closed even when the test fails."""
    client = connect(redis_url, timeout_s=10)
    yield client
    await client.aclose()


@pytest.fixture(params=["memory", "redis"])
async def backend(request: pytest.FixtureRequest, anyio_backend: object) -> AsyncIterator[Backend]:
    """An empty store of each kind."""
    if request.param == "memory":
        yield MemoryBackend()
        return
    async with aclosing(connect(request.getfixturevalue("redis_url"), timeout_s=10)) as client:
        yield RedisBackend(client, uuid.uuid4().hex)
