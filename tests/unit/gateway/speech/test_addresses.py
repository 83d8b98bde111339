"""Addresses of speech end with their time, however long the text is kept."""

import pytest

from chassis.errors import NotFound
from gateway.speech.spoken_answers import PATH, SignedSpeechUrls, SpokenText
from gateway.state import Priority
from gateway.store import MemoryStore
from tests.unit.gateway.wired import wired_gateway

pytestmark = pytest.mark.anyio

SAYING = SpokenText(text="It is 330 metres high.", tenant="anna", priority=Priority.STANDARD)


def part(address: str) -> str:
    return address.removeprefix(f"{PATH}/")


async def test_an_address_is_good_until_its_time_is_over() -> None:
    now = [1_000.0]
    addresses = SignedSpeechUrls(b"secret", MemoryStore(), 60.0, lambda: now[0])
    address = part(await addresses.give(SAYING))
    now[0] = 1_059.0
    assert await addresses.find(address) == SAYING
    now[0] = 1_060.0
    with pytest.raises(NotFound):
        await addresses.find(address)


async def test_gateways_with_the_same_secret_take_each_others_addresses_and_no_others() -> None:
    store = MemoryStore()
    one, two, other = (SignedSpeechUrls(secret, store, 60.0) for secret in (b"s", b"s", b"t"))
    address = part(await one.give(SAYING))
    assert await two.find(address) == SAYING
    assert part(await one.give(SAYING)) != address
    with pytest.raises(NotFound):
        await other.find(address)
    store.entries.delete(f"speech:{address.partition('.')[0]}")
    with pytest.raises(NotFound):
        await two.find(address)


@pytest.mark.parametrize("redis", [False, True])
async def test_gateways_that_share_redis_agree_without_a_set_secret_and_others_do_not(redis: bool) -> None:
    settings = {"tts_url": "http://127.0.0.1:1", **({"sessions": "redis"} if redis else {})}
    async with wired_gateway(**settings) as one, wired_gateway(**settings) as two:
        assert one.voice.signed_urls is not None
        assert two.voice.signed_urls is not None
        store = MemoryStore()
        one.voice.signed_urls._store = two.voice.signed_urls._store = store
        address = part(await one.voice.signed_urls.give(SAYING))
        if redis:
            assert await two.voice.signed_urls.find(address) == SAYING
        else:
            with pytest.raises(NotFound):
                await two.voice.signed_urls.find(address)
