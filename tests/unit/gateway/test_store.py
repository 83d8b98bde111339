"""The store's contract over memory and over a real Redis, and what only one of them can get wrong."""

import asyncio
import socket
import uuid
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis
from redis.commands.core import AsyncScript
from redis.exceptions import ConnectionError
from structlog.testing import capture_logs

from chassis.errors import DependencyUnavailable
from gateway.serving.redis_store import RedisStore, connect
from gateway.store import Allowance, Entries, ListChange, Store
from tests.live import closed_port
from tests.unit.gateway.sessions.harness import TTL_S, Backend, ManualClock, allowance_of

CREATE = ListChange(most=3, create=True)


async def put(store: Store, keys: Iterable[str], tenant: str, value: bytes = b"") -> None:
    """Store one value after the other."""
    for key in keys:
        await store.put(key, value, TTL_S, tenant)


async def stored(store: Store, keys: Iterable[str]) -> str:
    """Return the keys that still have a value."""
    return "".join([key for key in keys if await store.get(key) is not None])


# The contract


async def test_a_value_is_stored_until_it_expires(backend: Backend) -> None:
    store = backend.store
    assert await store.get("a") is None
    await store.put("a", b"\x00\xff", TTL_S, "acme")
    await store.put("a", b"newer", 1.0, "acme")
    assert await store.get("a") == b"newer"
    await backend.pass_time(1.0)
    assert await store.get("a") is None
    assert await store.delete("a", "acme") is False


async def test_the_first_claim_holds_until_it_expires_or_is_deleted(backend: Backend) -> None:
    store = backend.store
    assert await store.claim("a", b"first", TTL_S, "acme") is None
    assert await store.claim("a", b"second", TTL_S, "acme") == b"first"
    await backend.pass_time(TTL_S)
    assert await store.claim("a", b"third", TTL_S, "acme") is None
    assert await store.delete("a", "acme") is True
    assert await store.get("a") is None


async def test_a_list_has_its_head_and_its_newest_items(backend: Backend) -> None:
    async def append(item: bytes, head: bytes | None = None) -> None:
        assert await backend.store.append("a", item, TTL_S, "acme", ListChange(3, head, create=True))

    for item in (b"1", b"2"):
        await append(item)
    assert list(await backend.store.items("a")) == [b"", b"1", b"2"]
    await append(b"3", head=b"head")
    for item in (b"4", b"5"):
        await append(item)
    assert list(await backend.store.items("a")) == [b"head", b"3", b"4", b"5"]


async def test_missing_list_is_empty_and_not_created(backend: Backend) -> None:
    assert await backend.store.append("a", b"1", TTL_S, "acme", ListChange(3)) is False
    assert list(await backend.store.items("a")) == []


async def test_appending_restarts_a_lists_time_and_reading_does_not(backend: Backend) -> None:
    for _ in range(3):
        await backend.store.append("a", b"1", TTL_S, "acme", CREATE)
        await backend.pass_time(TTL_S * 0.75)
    assert len(await backend.store.items("a")) == 4
    await backend.pass_time(TTL_S * 0.25)
    assert list(await backend.store.items("a")) == []


async def test_a_tenant_beyond_its_allowance_loses_its_oldest_entries(backend: Backend) -> None:
    store = backend.store
    await put(store, "x", "other")
    await put(store, "abc", "three")
    await store.delete("c", "three")
    await put(store, "d", "three")
    assert await stored(store, "abcd") == "abd"
    await store.claim("e", b"", TTL_S, "three")
    await put(store, "ff", "three")
    await put(store, "yz", "other")
    assert await stored(store, "abcdefxyz") == "defxyz"


async def test_a_tenants_bytes_are_bounded_but_its_newest_entry_stays(backend: Backend) -> None:
    store = backend.store
    await put(store, "abc", "small", bytes(1_200))
    assert await stored(store, "abc") == "bc"
    for item in (bytes(700), bytes(700)):
        await store.append("l", item, TTL_S, "small", CREATE)
    assert await stored(store, "bc") == "c"
    await store.append("l", b"", TTL_S, "small", ListChange(3, bytes(5_000)))
    assert await stored(store, "c") == ""
    assert len(await store.items("l")) == 4


# Memory


def test_a_full_store_evicts_the_entry_that_was_not_used_for_longest() -> None:
    entries = Entries[int](Allowance(count=3))
    for key, tenant in (("a", "quiet"), ("b", "noisy"), ("c", "noisy")):
        entries.put(key, 0, 1, tenant)
    assert entries.get("a") == 0
    entries.put("d", 0, 1, "noisy")
    assert [key for key in "abcd" if entries.get(key) is not None] == ["a", "c", "d"]


def test_an_entry_larger_than_the_store_evicts_no_other() -> None:
    entries = Entries[str](Allowance(size=10))
    entries.put("mine", "", 3, "quiet")
    entries.put("theirs", "", 3, "noisy")
    entries.put("theirs", "huge", 11, "noisy")
    assert (entries.get("mine"), entries.get("theirs"), entries.usage) == ("", None, Allowance(1, 3))


def test_expired_entries_are_freed_without_access() -> None:
    clock = ManualClock()
    entries = Entries[str](Allowance(), clock=clock)
    entries.put("a", "photo", 9, "acme", TTL_S)
    clock.now += TTL_S
    entries.get("b")
    assert entries.usage == Allowance(0, 0)


STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "get", "delete", "wait"]), st.integers(0, 30), st.sampled_from("abc"))
)


@given(STEPS)
def test_memory_stays_within_its_bounds(steps: list[tuple[str, int, str]]) -> None:
    clock, written = ManualClock(), dict[str, tuple[float, int, str]]()
    entries = Entries[int](Allowance(9, 150), lambda _: Allowance(5, 90), clock)
    for step, number, tenant in steps:
        key = f"{tenant} {number % 12}"
        match step:
            case "put":
                entries.put(key, number, number, tenant, 20)
                written[key] = clock.now, number, tenant
                assert entries.get(key) == number
            case "get" if entries.get(key) is not None:
                assert clock.now - written[key][0] < 20
            case "delete":
                entries.delete(key)
            case "wait":
                clock.now += number
        left = [written[key] for key in written if entries.get(key) is not None]
        assert entries.usage == Allowance(len(left), sum(size for _, size, _ in left))
        assert len(left) <= 9
        assert entries.usage.size <= 150
        own = [size for _, size, name in left if name == tenant]
        assert len(own) <= 5
        assert sum(own) <= 90


# Redis

Call = Callable[[Store], Awaitable[object]]
CALLS: dict[str, Call] = {
    "get": lambda store: store.get("a"),
    "put": lambda store: store.put("a", b"", TTL_S, "acme"),
    "claim": lambda store: store.claim("a", b"", TTL_S, "acme"),
    "items": lambda store: store.items("a"),
    "append": lambda store: store.append("a", b"", TTL_S, "acme", CREATE),
    "delete": lambda store: store.delete("a", "acme"),
}


def fresh(client: Redis, name: str = "test") -> RedisStore:
    return RedisStore(client, name, TTL_S, allowance_of, uuid.uuid4().hex)


async def test_concurrent_gateways_lose_no_items(redis_client: Redis, redis_url: str) -> None:
    async with aclosing(connect(redis_url, timeout_s=10)) as other:
        stores = [RedisStore(client, "test", TTL_S) for client in (redis_client, other)]
        key = uuid.uuid4().hex
        await asyncio.gather(*(each.append(key, b"1", TTL_S, "acme", CREATE) for each in stores * 3))
        assert [await each.items(key) for each in stores] == [[b"", b"1", b"1", b"1"]] * 2


async def test_names_and_namespaces_are_separate(redis_client: Redis) -> None:
    await fresh(redis_client).put("a", b"mine", TTL_S, "acme")
    assert await fresh(redis_client).get("a") is None
    await RedisStore(redis_client, "one", TTL_S).put("a", b"mine", TTL_S, "acme")
    assert await RedisStore(redis_client, "other", TTL_S).get("a") is None


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_redis_that_is_down_is_an_unavailable_dependency(call: Call) -> None:
    async with aclosing(connect(closed_port().replace("http", "redis"))) as client:
        with pytest.raises(DependencyUnavailable) as raised:
            await call(fresh(client))
    assert "127.0.0.1" not in raised.value.detail


async def test_a_redis_that_never_replies_is_an_unavailable_dependency() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        async with aclosing(connect(url, timeout_s=0.05)) as client:
            with pytest.raises(DependencyUnavailable):
                await CALLS["append"](fresh(client))


@pytest.mark.parametrize(
    ("call", "result"),
    {"get": None, "put": None, "claim": None, "items": [], "append": True, "delete": True}.items(),
)
async def test_a_key_of_another_type_is_deleted(redis_client: Redis, call: str, result: object) -> None:
    store = fresh(redis_client)
    [name] = [store._key("a")]
    await redis_client.hset(name, "of", "another program")
    with capture_logs() as logs:
        assert await CALLS[call](store) == result
    assert await redis_client.type(name) != b"hash"
    assert [line["what"] for line in logs] == ([] if call in ("put", "delete") else ["test"])


async def test_an_uncounted_entry_is_stored(redis_client: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object, **__: object) -> None:
        raise ConnectionError

    store = fresh(redis_client)
    with monkeypatch.context() as broken, capture_logs() as logs:
        broken.setattr(AsyncScript, "__call__", away)
        await store.put("a", b"put", TTL_S, "three")
        assert await store.claim("b", b"claimed", TTL_S, "three") is None
    assert [await store.get(key) for key in "ab"] == [b"put", b"claimed"]
    assert {line["event"] for line in logs} == {"holdings_not_counted"}


@pytest.mark.parametrize(("evicted", "uncounted"), [("", "abc"), (":sizes", "")])
async def test_allowance_holds_if_redis_evicts_counters(
    redis_client: Redis, evicted: str, uncounted: str
) -> None:
    store = fresh(redis_client)
    await put(store, "abc", "three")
    await redis_client.delete(store._tenant_key("three") + evicted)
    await put(store, "defg", "three")
    assert await stored(store, "abcdefg") == f"{uncounted}efg"
    assert await redis_client.hget(f"{store._tenant_key('three')}:sizes", "") == b"3"


async def test_new_entry_is_newest_after_a_clock_change(redis_client: Redis) -> None:
    store = fresh(redis_client)
    await put(store, "abc", "three")
    for number, key in enumerate("abc"):
        await redis_client.zadd(store._tenant_key("three"), {key: 4e15 + number})  # far ahead of the present
    await put(store, "d", "three")
    assert await stored(store, "abcd") == "bcd"
    await put(store, "e", "three")
    assert await stored(store, "bcde") == "cde"
