"""What only the Redis store can get wrong: other clients, other namespaces, a Redis that is not there."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from bench.ports import free_ports
from chassis.errors import DependencyUnavailable, SessionNotFound
from gateway.serving.sessions import RedisSessionStore, SessionStore, new_session_id
from gateway.serving.stores import Allowance, connect
from tests.unit.gateway.sessions.harness import LIMITS, photo, turn

pytestmark = pytest.mark.anyio

Call = Callable[[SessionStore], Awaitable[object]]

CALLS: dict[str, Call] = {
    "create": lambda store: store.create(),
    "get": lambda store: store.get(new_session_id()),
    "append_turn": lambda store: store.append_turn(new_session_id(), turn(), photo()),
    "delete": lambda store: store.delete(new_session_id()),
}


async def test_two_gateways_share_conversations_and_lose_no_turn(
    redis_client: Redis, other_redis_client: Redis
) -> None:
    stores = [RedisSessionStore(client, LIMITS) for client in (redis_client, other_redis_client)]
    session_id = (await stores[0].create()).session_id
    await asyncio.gather(*(store.append_turn(session_id, turn(), photo()) for store in stores))
    sessions = [await store.get(session_id) for store in stores]
    assert sessions[0] == sessions[1]
    assert len(sessions[0].turns) == 2


async def test_namespaces_are_kept_apart(redis_client: Redis) -> None:
    mine, yours = (RedisSessionStore(redis_client, LIMITS, namespace=name) for name in ("mine", "yours"))
    session_id = (await mine.create()).session_id
    with pytest.raises(SessionNotFound):
        await yours.get(session_id)


async def test_keys_name_their_tenant_expire_and_are_deleted(redis_client: Redis) -> None:
    store = RedisSessionStore(redis_client, LIMITS, namespace="tidy")
    session_id = (await store.create("acme")).session_id
    await store.append_turn(session_id, turn(), photo(), "acme")
    keys = await redis_client.keys("tidy:*")
    assert len(keys) == 2
    for key in keys:
        assert b":acme:" in key
        assert 0 < await redis_client.pttl(key) <= LIMITS.ttl_s * 1000
    await store.delete(session_id, "acme")
    assert await redis_client.keys("tidy:*") == []


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_redis_that_is_down_is_an_unavailable_dependency(call: Call) -> None:
    [closed_port] = free_ports(1)
    async with aclosing(connect(f"redis://127.0.0.1:{closed_port}/0")) as client:
        with pytest.raises(DependencyUnavailable) as raised:
            await call(RedisSessionStore(client, LIMITS))
    assert "127.0.0.1" not in raised.value.detail


async def test_a_redis_that_never_replies_is_an_unavailable_dependency() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        async with aclosing(connect(url, timeout_s=0.05)) as client:
            with pytest.raises(DependencyUnavailable):
                await CALLS["append_turn"](RedisSessionStore(client, LIMITS))


@pytest.mark.parametrize("call", ["get", "append_turn", "create"])
async def test_a_key_of_another_kind_passes_for_none_and_is_deleted(redis_client: Redis, call: str) -> None:
    store = RedisSessionStore(redis_client, LIMITS, namespace=f"odd-{call}")
    session_id = (await store.create()).session_id
    (key,) = await redis_client.keys(f"odd-{call}:*")
    await redis_client.set(key, "not a session")
    with capture_logs() as logs:
        if call == "create":
            await store.create(session_id=session_id)
            assert (await store.get(session_id)).turns == ()
            return
        for _ in range(2):
            with pytest.raises(SessionNotFound):
                await (store.get(session_id) if call == "get" else store.append_turn(session_id, turn()))
    assert await redis_client.keys(f"odd-{call}:*") == []
    assert [line["what"] for line in logs] == ["session"]


@pytest.mark.parametrize(
    "garbage", [b"{", b"[]", b"null", b"\xff", b'{"question":1,"entity":null}', b"[" * 10_000]
)
@pytest.mark.parametrize("part", ["turn", "photo"])
async def test_what_is_no_turn_or_photo_of_ours_passes_for_no_session(
    redis_client: Redis, garbage: bytes, part: str
) -> None:
    store = RedisSessionStore(redis_client, LIMITS, namespace="broken")
    session_id = (await store.create()).session_id
    await store.append_turn(session_id, turn(), photo())
    key, turns = sorted(await redis_client.keys("broken:*"))
    await (
        redis_client.lset(turns, 0, garbage) if part == "turn" else redis_client.hset(key, "photo", garbage)
    )
    with pytest.raises(SessionNotFound):
        await store.get(session_id)
    assert await redis_client.keys("broken:*") == []


async def test_a_tenant_keeps_its_newest_sessions_and_takes_no_other_ones(redis_client: Redis) -> None:
    allowance = Allowance(count=3, size=3_000)
    store = RedisSessionStore(redis_client, LIMITS, namespace="shared", allowance_of=lambda _: allowance)

    async def found() -> list[int]:
        """The places of the noisy tenant's sessions that are still there."""
        places = []
        for place, session_id in enumerate(noisy):
            with suppress(SessionNotFound):
                await store.get(session_id, "noisy")
                places.append(place)
        return places

    quiet = (await store.create("quiet")).session_id
    await store.append_turn(quiet, turn(), tenant="quiet")
    noisy = [(await store.create("noisy")).session_id for _ in range(6)]
    for each in noisy:
        await store.append_turn(each, turn(), tenant="noisy")
    await store.delete(noisy[-1], "noisy")
    await store.append_turn(noisy[-2], turn(), photo(bytes(1_000)), tenant="noisy")
    assert len((await store.get(quiet, "quiet")).turns) == 1
    assert await found() == [3, 4]
    await store.append_turn(noisy[-2], turn(), photo(bytes(2_000)), tenant="noisy")  # too many bytes
    assert await found() == [4]
