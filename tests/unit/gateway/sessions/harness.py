"""Stores whose time passes when the test says so, a real redis-server, and a turn and a photo to store."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis.asyncio import Redis

from bench.ports import free_ports
from gateway.serving.redis_store import RedisStore
from gateway.state import Entity, Photo, Turn
from gateway.store import Allowance, MemoryStore
from tests.virtual_time import ManualClock

TTL_S = 600.0
ALLOWANCES = {"three": Allowance(count=3), "small": Allowance(size=3_000)}
"""Of tenants with these names; others have no bounds."""


def allowance_of(tenant: str) -> Allowance:
    """Return that of `ALLOWANCES`."""
    return ALLOWANCES.get(tenant, Allowance())


class MemoryBackend:
    """The memory store reads the clock that the test moves."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(allowance_of=allowance_of, clock=self.clock)

    async def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds


class RedisBackend:
    """Redis has its own clock, so the remaining times of keys are shortened instead."""

    def __init__(self, client: Redis, namespace: str) -> None:
        self._client, self._namespace = client, namespace
        self.store = RedisStore(client, "test", TTL_S, allowance_of, namespace)

    async def pass_time(self, seconds: float) -> None:
        async for key in self._client.scan_iter(match=f"{self._namespace}:*"):
            remaining = await self._client.pttl(key)
            assert 0 < remaining <= TTL_S * 1000, f"{key!r} would live for ever"
            await self._client.pexpire(key, remaining - round(seconds * 1000))


Backend = MemoryBackend | RedisBackend


def turn(question: str = "What is this?", answer: str = "A lighthouse.") -> Turn:
    """A turn about something that was recognised."""
    entity = Entity(
        name="Grüner Leuchtturm",
        probability=0.93,
        attributes=(("height", "31 m"), ("built", "1902")),
        title="Leuchtturm",
        url="https://example.org/leuchtturm",
    )
    return Turn(question=question, answer=answer, abstained=False, entity=entity)


def photo(content: bytes = b"\xff\xd8\n\x00\xff\xd9") -> Photo:
    """A photo whose bytes are not text in any encoding."""
    return Photo(jpeg=content, width=640, height=480, digest=content[:8].hex())


_ATTEMPTS = 5


@contextmanager
def running_redis(folder: Path) -> Iterator[str]:
    """The URL of a redis-server that runs in `folder`. Skips where there is none, unless this is CI."""
    program = shutil.which("redis-server")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("CI must have redis-server: these tests may not be skipped there")
        pytest.skip("redis-server is not installed here")
    for _ in range(_ATTEMPTS):
        [port] = free_ports(1)
        options = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)]
        options += ["--save", "", "--appendonly", "no"]
        with subprocess.Popen(
            [program, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            try:
                # The log ends before this line where the server did not start, as on a taken port.
                if any("Ready to accept connections" in line for line in process.stdout):
                    yield f"redis://127.0.0.1:{port}/0"
                    return
            finally:
                process.terminate()
                process.communicate(timeout=10)
    pytest.fail(f"redis-server did not start in {_ATTEMPTS} attempts")
