"""Memories in a store: expiry, limits and encryption. What a store does by itself is in `test_store.py`."""

import base64
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio
import pytest

from chassis.errors import NotFound
from chassis.images import CleanImage, PhotoDecoders
from chassis.resilience.deadlines import Deadline
from chassis.startup import WrongSettings
from contracts.answer import MemoryInput
from gateway.serving import memory as module
from gateway.serving.admission import Admission
from gateway.serving.memory import Memory, encryption_key
from gateway.serving.tenants import Caller
from gateway.state import Priority, Sighting
from gateway.store import MemoryStore
from tests.unit.gateway.sessions.harness import ManualClock, allowance_of, photo

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
    """A store and its time."""

    clock: ManualClock
    store: MemoryStore

    def memory(self, key: bytes = KEY, decoders: Admission | None = None) -> Memory:
        slots = decoders or Admission(8, 0)
        return Memory(self.store, key, 1, Photos(), slots, self.clock)


@pytest.fixture
def place() -> Place:
    clock = ManualClock(1_795_761_000.0)
    return Place(clock, MemoryStore(allowance_of=allowance_of, clock=clock))


async def see(
    memory: Memory, name: str, of: MemoryInput = MINE, tenant: str = "acme", session: str = "s"
) -> None:
    seen = Sighting("", datetime.fromtimestamp(0, UTC), name, "PLATFORM 3", of.place, b"")
    caller = Caller(tenant, Priority.INTERACTIVE)
    await memory.add(of, caller, session, seen, photo(), Deadline.after_ms(60_000))


async def names(memory: Memory, of: MemoryInput = MINE, tenant: str = "acme") -> list[str]:
    return [each.name for each in await memory.all(of.id, tenant)]


async def test_each_entry_has_its_own_lifetime(place: Place) -> None:
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


async def test_thumbnails_wait_for_the_photo_decoders(place: Place) -> None:
    decoders = Admission(1, 1)
    memory = place.memory(decoders=decoders)
    other = decoders.admit("globex", Priority.INTERACTIVE, Deadline.after_ms(60_000))
    async with anyio.create_task_group() as group, other:
        group.start_soon(see, memory, "Tower")
        await anyio.wait_all_tasks_blocked()
        assert await names(memory) == []
    assert await names(memory) == ["Tower"]


async def test_the_store_holds_no_plain_text(place: Place) -> None:
    await see(place.memory(), "Tower", HERS, session="secret-session")
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
