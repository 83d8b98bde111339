"""Addresses of speech end with their time, however long the text is kept."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from bench.ports import free_ports
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


@pytest.mark.parametrize("shared", [False, True])
async def test_gateways_that_share_redis_agree_without_a_set_secret_and_others_do_not(
    redis_url: str, shared: bool
) -> None:
    settings: dict[str, Any] = {"tts_url": "http://127.0.0.1:1"}
    settings |= {"sessions": "redis", "redis_url": redis_url} if shared else {}
    async with wired_gateway(**settings) as one, wired_gateway(**settings) as two:
        assert (one.signing_secret == two.signing_secret) is shared


async def test_gateways_start_with_a_secret_of_their_own_while_redis_is_away() -> None:
    [port] = free_ports(1)
    settings = {"sessions": "redis", "redis_url": f"redis://127.0.0.1:{port}/0"}
    with capture_logs() as lines:
        async with wired_gateway(**settings) as one, wired_gateway(**settings) as two:
            assert one.signing_secret != two.signing_secret
    assert [line["event"] for line in lines].count("signing_secret_not_shared") == 2
