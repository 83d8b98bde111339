"""Sounds are cached within bounds."""

import pytest

from gateway.speech.servers import AudioSink
from gateway.speech.spoken_answers import SoundCache
from gateway.store import MemoryStore

pytestmark = pytest.mark.anyio

MIB = 2**20


@pytest.mark.parametrize(("mebibytes", "is_cached"), [(1, True), (5, False)])
async def test_only_a_sound_of_bounded_size_is_cached(mebibytes: int, is_cached: bool) -> None:
    async def say(sink: AudioSink) -> None:
        for _ in range(mebibytes):
            await sink("audio/mpeg", bytes(MIB))

    cache = SoundCache(MemoryStore(), 60.0)
    sound = await cache.make("answer", say, "tenant")
    assert (sound.media_type, len(sound.content)) == ("audio/mpeg", mebibytes * MIB)
    assert (await cache.get("answer") is not None) is is_cached
