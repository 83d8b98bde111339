"""What only the Redis store can get wrong: other clients, other namespaces, a Redis that is not there."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest
from redis.asyncio import Redis

from bench.ports import free_ports
from chassis.errors import DependencyUnavailable, SessionNotFound
from gateway.serving.sessions.port import SessionStore, new_session_id
from gateway.serving.sessions.redis import RedisSessionStore, connect
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


async def test_a_deleted_session_leaves_no_key_behind(redis_client: Redis) -> None:
    store = RedisSessionStore(redis_client, LIMITS, namespace="tidy")
    session_id = (await store.create()).session_id
    await store.append_turn(session_id, turn(), photo())
    assert len(await redis_client.keys("tidy:*")) == 2
    await store.delete(session_id)
    assert await redis_client.keys("tidy:*") == []


async def test_every_key_names_its_tenant(redis_client: Redis) -> None:
    store = RedisSessionStore(redis_client, LIMITS, namespace="owned")
    session_id = (await store.create("acme")).session_id
    await store.append_turn(session_id, turn(), photo(), "acme")
    keys = await redis_client.keys("owned:*")
    assert len(keys) == 2
    assert all(b":acme:" in key for key in keys)


async def test_every_key_expires_by_itself(redis_client: Redis) -> None:
    store = RedisSessionStore(redis_client, LIMITS, namespace="mortal")
    await store.append_turn((await store.create()).session_id, turn(), photo())
    await store.create()
    lives = [await redis_client.pttl(key) for key in await redis_client.keys("mortal:*")]
    assert len(lives) == 3
    assert all(0 < life <= LIMITS.ttl_s * 1000 for life in lives)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_redis_that_is_down_is_an_unavailable_dependency(call: Call) -> None:
    [closed_port] = free_ports(1)
    async with aclosing(connect(f"redis://127.0.0.1:{closed_port}/0")) as client:
        with pytest.raises(DependencyUnavailable) as raised:
            await call(RedisSessionStore(client, LIMITS))
    assert "127.0.0.1" not in raised.value.detail


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_redis_that_never_replies_is_an_unavailable_dependency(call: Call) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        async with aclosing(connect(url, timeout_s=0.05)) as client:
            with pytest.raises(DependencyUnavailable):
                await call(RedisSessionStore(client, LIMITS))


async def test_keys_of_another_kind_are_an_unavailable_dependency_not_a_crash(redis_client: Redis) -> None:
    store = RedisSessionStore(redis_client, LIMITS, namespace="odd")
    session_id = (await store.create()).session_id
    (key,) = await redis_client.keys("odd:*")
    await redis_client.set(key, "not a session")
    with pytest.raises(DependencyUnavailable):
        await store.get(session_id)
