"""Eviction from a full store, and beyond a tenant's allowance."""

import uuid
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis

from gateway.serving.stores import Allowance, Holdings, RedisHoldings


def test_a_full_store_evicts_its_oldest_key_whoever_stored_it() -> None:
    holdings = Holdings[str](Allowance(count=3))
    assert [holdings.add(*each, 1) for each in (("quiet", "a"), ("noisy", "b"), ("noisy", "c"))] == [[]] * 3
    holdings.use("a")
    assert holdings.add("noisy", "d", 1) == ["b"]
    assert [holdings.add("noisy", each, 1) for each in "ef"] == [["c"], ["a"]]


def test_beyond_its_own_allowance_a_tenant_gives_its_oldest_although_there_is_room() -> None:
    holdings = Holdings[int](Allowance(), lambda _: Allowance(count=2, size=10))
    assert holdings.add("other", 0, 4) == []
    assert [holdings.add("acme", number, 4) for number in (1, 2, 3)] == [[], [], [1]]
    holdings.use(2)
    assert holdings.add("acme", 4, 7) == [3, 2]
    assert holdings.add("acme", 5, 99) == [4]  # what has just come stays
    assert holdings.size == 103


def test_what_is_larger_than_the_store_takes_nobodys_place() -> None:
    holdings = Holdings[str](Allowance(size=10))
    holdings.add("quiet", "mine", 3)
    holdings.add("noisy", "theirs", 3)
    assert holdings.add("noisy", "huge", 11) == ["huge"]
    assert holdings.add("noisy", "theirs", 11) == ["theirs"]
    assert holdings.size == 3


def test_what_is_held_again_counts_once() -> None:
    holdings = Holdings[int](Allowance(size=10))
    for _ in range(5):
        assert holdings.add("acme", 1, 6) == []
    holdings.remove(1)
    holdings.remove(1)
    assert holdings.size == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 40)), max_size=60))
def test_it_stays_within_its_bounds(came: list[tuple[str, int]]) -> None:
    holdings, held = (
        Holdings[int](Allowance(9, 150), lambda _: Allowance(5, 90)),
        dict[int, tuple[str, int]](),
    )
    for number, (tenant, size) in enumerate(came):
        held[number] = tenant, size
        for key in holdings.add(tenant, number, size):
            del held[key]
        own = [each for name, each in held.values() if name == tenant]
        assert len(held) <= 9
        assert len(own) <= 5
        assert sum(own) <= 90
        assert holdings.size == sum(each for _, each in held.values()) <= 150


async def held_in(redis_client: Redis, names: Iterable[str]) -> list[str]:
    """Those of `names` that are still there."""
    return [name for name in names if await redis_client.exists(name)]


async def fill(redis_client: Redis, holdings: RedisHoldings, names: Iterable[str]) -> None:
    """One name after the other, of three bytes each."""
    for name in names:
        await redis_client.set(name, b"xxx")
        await holdings.add("acme", name, 3)


def three_names(redis_client: Redis, namespace: str) -> RedisHoldings:
    """Of three bytes each."""
    return RedisHoldings(redis_client, namespace, 60, lambda _: Allowance(size=9), lambda _, name: (name,))


@pytest.mark.anyio
@pytest.mark.parametrize("evicted", ["names", "sizes"])
async def test_though_redis_evicts_half_of_the_books_the_allowance_holds(
    redis_client: Redis, evicted: str
) -> None:
    namespace = uuid.uuid4().hex
    holdings = three_names(redis_client, namespace)
    before, after = ([f"{namespace} {when} {number}" for number in range(4)] for when in ("before", "after"))
    await fill(redis_client, holdings, before[:3])
    names, sizes = holdings._keys("acme")
    await redis_client.delete(names if evicted == "names" else sizes)
    await fill(redis_client, holdings, after)
    assert await held_in(redis_client, after) == after[1:]
    assert await held_in(redis_client, before) == (
        before[:3] if evicted == "names" else []
    )  # till they expire
    assert await redis_client.hget(sizes, "") == b"9"


@pytest.mark.anyio
async def test_what_has_just_come_stays_and_the_rest_goes_though_the_clock_was_set_back(
    redis_client: Redis,
) -> None:
    namespace = uuid.uuid4().hex
    holdings = three_names(redis_client, namespace)
    old = [f"{namespace} {number}" for number in range(3)]
    await fill(redis_client, holdings, old)
    names, _ = holdings._keys("acme")
    for number, name in enumerate(old):
        await redis_client.zadd(names, {name: 4e15 + number})  # far ahead of the present
    new = f"{namespace} new"
    await fill(redis_client, holdings, [new])
    assert await held_in(redis_client, [*old, new]) == [*old[1:], new]
    newer = f"{namespace} and newer"
    await fill(redis_client, holdings, [newer])
    assert await held_in(redis_client, [*old, new, newer]) == [old[2], new, newer]
