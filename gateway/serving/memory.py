"""Memories of what was seen, for clients that consent: encrypted, each sighting for a set time.

Each sighting is an entry of the store, so that it expires by itself. A list for each memory, and one for each
session, has the keys of its sightings. Names in the store are keyed hashes, which reveal no id.
"""

import json
from asyncio import gather
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import blake2b
from secrets import token_bytes, token_urlsafe

import anyio.to_thread
import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from redis.asyncio import Redis
from redis.exceptions import RedisError

from chassis.errors import NotFound
from chassis.images import ImageLimits, PhotoDecoders
from chassis.resilience.deadlines import Clock, Deadline
from chassis.settings import read_secret
from chassis.startup import WrongSettings
from contracts.answer import MemoryInput
from gateway.serving.admission import Admission
from gateway.serving.stores import Stores
from gateway.serving.tenants import Caller
from gateway.settings import GatewaySettings
from gateway.state import Photo, Recall, Sighting
from gateway.store import ListChange, Store

SETTING = "LOREGLASS_GATEWAY_MEMORY_KEY"
MOST = 200
"""Sightings in one memory. A further one replaces the oldest."""
MOST_THUMBNAIL_BYTES = 20 * 2**10
"""A sighting whose thumbnail would have more has none."""
_AT_ONCE = 8
"""Requests that may add to one memory at once: its list keeps so many more keys, so that each request finds
the old sightings that it must delete.
"""
_SIDE = 160
"""Longest side of a thumbnail in pixels."""
_KEY_BYTES, _NONCE_BYTES = 32, 12
_CHECK = "loreglass:memory-key-check"

log = structlog.get_logger()


def encryption_key(text: str) -> bytes:
    """Return the key that the operator set, as base64. Raises `WrongSettings` unless it has 32 bytes."""
    try:
        key = b64decode(text, validate=True)
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise WrongSettings(f"{SETTING}: 32 bytes in base64. Make them with: openssl rand -base64 32")
    return key


async def check_key(redis: Redis, key: bytes) -> None:
    """Raise `WrongSettings` if what this Redis holds was encrypted with another key."""
    sealed = _seal(key, b"", _CHECK)
    try:
        former = await redis.set(_CHECK, sealed, nx=True, get=True)
    except (RedisError, OSError) as error:
        log.warning("memory_key_not_checked", reason=type(error).__name__)
        return
    if isinstance(former, bytes) and _unseal(key, former, _CHECK) is None:
        raise WrongSettings(
            f"{SETTING} is not the key with which the memories in this Redis are encrypted. Set the former "
            f"key. To give up these memories, delete {_CHECK} from Redis; the rest expires by itself."
        )


@dataclass(frozen=True, slots=True)
class Memory:
    """Remembers what was seen. Methods raise `DependencyUnavailable` if the store does not answer.

    `photos` make thumbnails, in the order of `slots`: `add` also raises `Overloaded` and `DeadlineExceeded`.
    `clock`: seconds since 1970.
    """

    store: Store
    key: bytes = field(repr=False)
    days: int
    photos: PhotoDecoders
    slots: Admission
    clock: Clock

    @property
    def _ttl_s(self) -> float:
        return self.days * 86_400.0

    async def add(
        self,
        memory: MemoryInput,
        caller: Caller,
        session_id: str,
        sighting: Sighting,
        photo: Photo,
        due: Deadline,
    ) -> None:
        """Remember `sighting` now, with the photo's thumbnail; its id and time are replaced."""
        thumbnail, tenant = await self._thumbnail(photo, caller, due), caller.tenant
        at = datetime.fromtimestamp(self.clock(), UTC)
        listed = self._name("memory", tenant, memory.id)
        key = f"{listed}:{token_urlsafe(12)}"
        for old in (await self._keys(listed))[: -MOST + 1]:
            await self.store.delete(old, tenant)
        # The lists first: what is not in them could not be deleted.
        for name in (listed, self._name("session", tenant, session_id)):
            change = ListChange(MOST + _AT_ONCE, create=True)
            await self.store.append(name, key.encode(), self._ttl_s, tenant, change)
        value = _seal(self.key, _encode(replace(sighting, at=at, thumbnail=thumbnail)), key)
        await self.store.put(key, value, self._ttl_s, tenant)

    async def all(self, memory_id: str, tenant: str) -> tuple[Sighting, ...]:
        """Return all sightings, oldest first."""
        keys = (await self._keys(self._name("memory", tenant, memory_id)))[-MOST:]
        values = await gather(*map(self.store.get, keys))
        sightings = await anyio.to_thread.run_sync(self._decode_all, keys, values)
        after = self.clock() - self._ttl_s
        return tuple(each for each in sightings if each.at.timestamp() > after)

    async def one(self, memory_id: str, tenant: str, sighting_id: str) -> Sighting:
        """Return one sighting. Raises `NotFound`."""
        key = f"{self._name('memory', tenant, memory_id)}:{sighting_id}"
        value = await self.store.get(key)
        sighting = self._decode(key, value) if value else None
        if sighting is None:
            raise NotFound("The memory holds nothing with this id.")
        return sighting

    def recall(self, memory: MemoryInput, tenant: str) -> Recall:
        """Return the memory for a question."""
        zone = timezone(timedelta(minutes=memory.utc_offset_min))

        async def sightings() -> tuple[Sighting, ...]:
            every = await self.all(memory.id, tenant)
            return tuple(replace(each, at=each.at.astimezone(zone)) for each in every)

        return Recall(datetime.fromtimestamp(self.clock(), zone), sightings)

    async def forget(self, memory_id: str, tenant: str, sighting_id: str | None = None) -> None:
        """Delete one sighting, or all of them. No error if there is none."""
        listed = self._name("memory", tenant, memory_id)
        if sighting_id is None:
            await self._forget_list(listed, tenant)
        else:
            await self.store.delete(f"{listed}:{sighting_id}", tenant)

    async def forget_session(self, session_id: str, tenant: str) -> None:
        """Delete what was remembered in a conversation."""
        await self._forget_list(self._name("session", tenant, session_id), tenant)

    async def _thumbnail(self, photo: Photo, caller: Caller, due: Deadline) -> bytes:
        async with self.slots.admit(caller.tenant, caller.priority, due):
            small = await self.photos.clean(photo.jpeg, ImageLimits(), _SIDE, due)
        return small.jpeg if len(small.jpeg) <= MOST_THUMBNAIL_BYTES else b""

    async def _forget_list(self, name: str, tenant: str) -> None:
        for key in await self._keys(name):
            await self.store.delete(key, tenant)
        await self.store.delete(name, tenant)

    async def _keys(self, name: str) -> Sequence[str]:
        return [key.decode() for key in (await self.store.items(name))[1:]]

    def _name(self, *parts: str) -> str:
        return blake2b("\0".join(parts).encode(), key=self.key, digest_size=24).hexdigest()

    def _decode_all(self, keys: Sequence[str], values: Sequence[bytes | None]) -> list[Sighting]:
        """Blocking: a full memory has 4 MB."""
        sightings = (self._decode(key, value) for key, value in zip(keys, values, strict=True) if value)
        return [each for each in sightings if each is not None]

    def _decode(self, key: str, value: bytes) -> Sighting | None:
        plain = _unseal(self.key, value, key)
        try:
            return None if plain is None else _decode(key.rpartition(":")[2], plain)
        except (ValueError, TypeError, LookupError):  # of another version
            return None


async def open_memory(
    settings: GatewaySettings, stores: Stores, photos: PhotoDecoders, slots: Admission, clock: Clock
) -> Memory | None:
    """Return the memory of what was seen; None without the operator's key. Raises `WrongSettings`."""
    text = read_secret(SETTING, settings.memory_key, settings.memory_key_file)
    if not text:
        return None
    key = encryption_key(text)
    if stores.redis is not None:
        await check_key(stores.redis, key)
    return Memory(stores.memories, key, settings.memory_days, photos, slots, clock)


def _seal(key: bytes, plain: bytes, name: str) -> bytes:
    """Encrypt for one name: under another one the value cannot be read."""
    nonce = token_bytes(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plain, name.encode())


def _unseal(key: bytes, value: bytes, name: str) -> bytes | None:
    try:
        return AESGCM(key).decrypt(value[:_NONCE_BYTES], value[_NONCE_BYTES:], name.encode())
    except (InvalidTag, ValueError):
        return None


def _encode(sighting: Sighting) -> bytes:
    facts = {name: getattr(sighting, name) for name in ("name", "text", "place")}
    facts["at"] = sighting.at.timestamp()
    return json.dumps(facts).encode() + b"\n" + sighting.thumbnail


def _decode(sighting_id: str, plain: bytes) -> Sighting:
    facts, _, thumbnail = plain.partition(b"\n")
    fields = json.loads(facts)
    at = datetime.fromtimestamp(fields.pop("at"), UTC)
    return Sighting(id=sighting_id, at=at, thumbnail=thumbnail, **fields)
