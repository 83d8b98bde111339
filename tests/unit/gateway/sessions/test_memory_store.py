"""Memories in the memory store and in a real Redis: expiry, limits, separation and encryption."""

import base64
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio
import pytest
from redis.asyncio import Redis

from chassis.errors import NotFound
from chassis.images import CleanImage, PhotoDecoders
from chassis.resilience.deadlines import Deadline
from chassis.startup import WrongSettings
from contracts.answer import MemoryInput
from gateway.serving import memory as module
from gateway.serving.admission import Admission
from gateway.serving.memory import Memory, encryption_key
from gateway.serving.redis_store import RedisStore, connect
from gateway.serving.tenants import Caller
from gateway.state import Priority, Sighting
from gateway.store import MemoryStore, Store
from tests.unit.gateway.sessions.harness import ManualClock, allowance_of, photo

pytestmark = pytest.mark.anyio

DAY_S = 86_400.0
KEY, OTHER_KEY = bytes(32), bytes([1]) * 32
MINE, HERS = MemoryInput(id="m" * 32), MemoryInput(id="h" * 32, place="the harbour")
THUMBNAIL = b"\xff\xd8 a small picture \xff\xd9"


class Photos(PhotoDecoders):
    """Makes every photo the same thumbnail."""

    def __init__(self) -> None:
        """Start no process."""

    async def clean(self, *_: object) -> CleanImage:
        return CleanImage(THUMBNAIL, 160, 120, "")


@dataclass
class Place:
    """A store and its time. `redis`: None for the memory store."""

    store: Store
    clock: ManualClock
    namespace: str = ""
    redis: Redis | None = None

    def memory(self, key: bytes = KEY, decoders: Admission | None = None) -> Memory:
        slots = decoders or Admission(8, 0)
        return Memory(self.store, key, 1, Photos(), slots, self.clock)


@pytest.fixture(params=["memory", "redis"])
async def place(request: pytest.FixtureRequest, anyio_backend: object) -> AsyncIterator[Place]:
    clock = ManualClock(1_795_761_000.0)
    if request.param == "memory":
        yield Place(MemoryStore(allowance_of=allowance_of, clock=clock), clock)
        return
    client, namespace = connect(request.getfixturevalue("redis_url"), timeout_s=10), uuid.uuid4().hex
    yield Place(RedisStore(client, "memory", DAY_S, allowance_of, namespace), clock, namespace, client)
    await client.aclose()


async def see(
    memory: Memory, name: str, of: MemoryInput = MINE, tenant: str = "acme", session: str = "s"
) -> None:
    seen = Sighting("", datetime.fromtimestamp(0, UTC), name, "PLATFORM 3", of.place, b"")
    caller = Caller(tenant, Priority.INTERACTIVE)
    await memory.add(of, caller, session, seen, photo(), Deadline.after_ms(60_000))


async def names(memory: Memory, of: MemoryInput = MINE, tenant: str = "acme") -> list[str]:
    return [each.name for each in await memory.all(of.id, tenant)]


async def test_what_was_seen_comes_back_in_order_with_its_time(place: Place) -> None:
    memory = place.memory()
    await see(memory, "Tower", HERS)
    place.clock.now += 60
    await see(memory, "Bridge Ü", HERS)
    first, second = await memory.all(HERS.id, "acme")
    assert (first.name, second.name, second.text) == ("Tower", "Bridge Ü", "PLATFORM 3")
    assert (second.place, second.thumbnail) == ("the harbour", THUMBNAIL)
    assert (second.at - first.at).total_seconds() == 60
    assert await memory.one(HERS.id, "acme", second.id) == second


async def test_each_thing_is_kept_for_its_own_time(place: Place) -> None:
    memory = place.memory()
    await see(memory, "Tower")
    place.clock.now += DAY_S - 1
    await see(memory, "Bridge")
    assert await names(memory) == ["Tower", "Bridge"]
    place.clock.now += 1
    assert await names(memory) == ["Bridge"]
    place.clock.now += DAY_S
    assert await names(memory) == []


async def test_a_full_memory_deletes_its_oldest_entries(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    memory = place.memory()
    await see(memory, "0")
    (first,) = await memory.all(MINE.id, "acme")
    for number in range(1, 20):
        await see(memory, str(number))
    assert await names(memory) == ["17", "18", "19"]
    with pytest.raises(NotFound):
        await memory.one(MINE.id, "acme", first.id)


async def test_a_tenants_allowance_bounds_its_memories(place: Place) -> None:
    memory = place.memory()
    for number in range(30):
        await see(memory, str(number), tenant="small")
    remaining = await names(memory, tenant="small")
    assert 1 <= len(remaining) < 20
    assert remaining[-1] == "29"


async def test_memories_of_other_ids_and_tenants_are_separate(place: Place) -> None:
    memory = place.memory()
    await see(memory, "mine")
    await see(memory, "hers", HERS)
    await see(memory, "theirs", tenant="globex")
    assert [await names(memory), await names(memory, HERS)] == [["mine"], ["hers"]]
    assert await names(memory, tenant="globex") == ["theirs"]
    await memory.forget(MINE.id, "acme")
    assert [await names(memory), await names(memory, HERS)] == [[], ["hers"]]
    assert await names(memory, tenant="globex") == ["theirs"]


async def test_deleting_a_conversation_deletes_its_entries_in_every_memory(place: Place) -> None:
    memory = place.memory()
    await see(memory, "mine", session="one")
    await see(memory, "hers", HERS, session="one")
    await see(memory, "later", session="two")
    await see(memory, "theirs", tenant="globex", session="one")
    await memory.forget_session("one", "acme")
    assert [await names(memory), await names(memory, HERS)] == [["later"], []]
    assert await names(memory, tenant="globex") == ["theirs"]


async def test_a_thumbnail_takes_its_turn_at_the_photo_decoders(place: Place) -> None:
    decoders = Admission(1, 1)
    memory = place.memory(decoders=decoders)
    other = decoders.admitted("globex", Priority.INTERACTIVE, Deadline.after_ms(60_000))
    async with anyio.create_task_group() as group, other:
        group.start_soon(see, memory, "Tower")
        await anyio.wait_all_tasks_blocked()
        assert await names(memory) == []
    assert await names(memory) == ["Tower"]


async def test_the_store_holds_no_plain_text(place: Place) -> None:
    await see(place.memory(), "Tower", HERS, session="secret-session")
    stored = b""
    if place.redis is not None:
        async for key in place.redis.scan_iter(match=f"{place.namespace}:*"):
            is_list = await place.redis.type(key) == b"list"
            values = await place.redis.lrange(key, 0, -1) if is_list else [await place.redis.get(key)]
            stored += b"".join([key, *(value for value in values if isinstance(value, bytes))])
    elif isinstance(place.store, MemoryStore):
        entries = place.store.entries._entries
        stored = b"".join(key.encode() + b"".join(each.value) for key, each in entries.items())
    assert len(stored) > 300
    for plain in (b"Tower", b"PLATFORM", b"harbour", b"\xff\xd8", b"secret-session", HERS.id.encode()):
        assert plain not in stored
    assert await names(place.memory(OTHER_KEY), HERS) == []
    assert await names(place.memory(), HERS) == ["Tower"]


async def test_a_value_under_another_name_is_not_read(place: Place) -> None:
    memory = place.memory()
    await see(memory, "Tower")
    await see(memory, "Bridge", HERS)
    mine, hers = [await memory._keys(memory._name("memory", "acme", each.id)) for each in (MINE, HERS)]
    value = await place.store.get(mine[0])
    assert value is not None
    await place.store.put(hers[0], value, DAY_S, "acme")
    assert await names(memory, HERS) == []


@pytest.mark.parametrize("text", ["short", "é" * 44, base64.b64encode(bytes(31)).decode(), "=" * 44])
def test_an_invalid_key_is_refused(text: str) -> None:
    with pytest.raises(WrongSettings, match="openssl rand -base64 32"):
        encryption_key(text)
