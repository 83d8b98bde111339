"""Sounds that are kept: what is wanted by several at once is made once."""

import anyio
import pytest

from chassis.errors import DependencyUnavailable
from gateway.speech.servers import AudioSink
from gateway.speech.spoken_answers import CachedSound, SoundCache
from gateway.store import MemoryStore

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("size", [1, 5 * 2**20])
async def test_a_sound_that_several_want_at_once_is_made_once(size: int) -> None:
    sounds, go, began = SoundCache(MemoryStore(32 * 2**20), 60.0), anyio.Event(), []
    got: list[CachedSound] = []

    async def say(hear: AudioSink) -> None:
        began.append(size)
        await go.wait()
        await hear("audio/mpeg", bytes(size))

    async def want() -> None:
        got.append(await sounds.whole("name", say, "acme"))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(want)
        await anyio.wait_all_tasks_blocked()
        go.set()
    assert got == [CachedSound("audio/mpeg", bytes(size))] * 3
    assert len(began) == 1


async def test_what_failed_is_tried_again() -> None:
    sounds = SoundCache(MemoryStore(), 60.0)

    async def fail(_: AudioSink) -> None:
        raise DependencyUnavailable

    async def say(hear: AudioSink) -> None:
        await hear("audio/mpeg", b"ID3")

    with pytest.raises(DependencyUnavailable):
        await sounds.whole("name", fail, "acme")
    assert (await sounds.whole("name", say, "acme")).content == b"ID3"
