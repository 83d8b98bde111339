"""Conversations that the gateway remembers: in its own memory, or in Redis for several gateways.

In Redis a session is two keys that live and die together: a hash with the photo and a list with the turns.
Redis itself bounds the total: give it `maxmemory` and `maxmemory-policy volatile-ttl` or `volatile-lru`.
"""

import json
import re
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Protocol

from redis.asyncio import Redis

from chassis.errors import PayloadTooLarge, SessionNotFound
from chassis.resilience.deadlines import Clock
from gateway.serving.stores import (
    Allowance,
    AllowanceOf,
    Holdings,
    RedisHoldings,
    Unreadable,
    delete_unreadable,
    reading,
    redis_errors,
    unlimited,
)
from gateway.serving.tenants import PUBLIC
from gateway.state import Entity, Photo, Turn


def _fields(value: Turn | Entity) -> dict[str, Any]:
    """As `asdict`, which copies whatever is in them."""
    return {name: getattr(value, name) for name in value.__slots__}


_ENCODER = json.JSONEncoder(separators=(",", ":"), default=_fields)


def encode_turn(turn: Turn) -> bytes:
    """The turn as UTF-8 JSON."""
    return _ENCODER.encode(turn).encode()


def decode_turn(encoded: bytes) -> Turn:
    """The turn that `encode_turn` was given. Raises `ValueError`, `TypeError` or `LookupError` for others."""
    fields: dict[str, Any] = json.loads(encoded)
    turn = Turn(**{**fields, "entity": _decode_entity(fields["entity"])})
    if not (isinstance(turn.question, str) and isinstance(turn.answer, str)):
        raise TypeError("a turn that is none of ours")
    return turn


def _decode_entity(fields: dict[str, Any] | None) -> Entity | None:
    if fields is None:
        return None
    attributes = tuple((key, value) for key, value in fields["attributes"])
    return Entity(**{**fields, "attributes": attributes})


ID_BYTES = 24
"""Of an id, before it is spelled in base64."""
_ID = re.compile(r"[A-Za-z0-9_-]{32}")


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation: the photo it is about, if any, and its latest turns, oldest first."""

    session_id: str
    photo: Photo | None = None
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The bounds of one session. `ttl_s`: seconds that it outlives its last write; reading does not count.

    Sizes in bytes, of the JPEG and of a turn as JSON; a turn beyond its bound is refused, while turns
    beyond `max_turns` push out the oldest.
    """

    max_turns: int = 12
    max_photo_bytes: int = 8 * 2**20
    max_turn_bytes: int = 256 * 2**10
    ttl_s: float = 3600.0

    def __post_init__(self) -> None:
        if min(self.max_turns, self.max_photo_bytes, self.max_turn_bytes) < 1 or self.ttl_s <= 0:
            raise ValueError("every limit of a session must be positive")

    @property
    def max_session_bytes(self) -> int:
        """More than this no session can hold."""
        return self.max_photo_bytes + self.max_turns * self.max_turn_bytes

    def admit(self, turn: Turn, photo: Photo | None) -> bytes:
        """The turn's JSON. Raises `PayloadTooLarge` where the turn or the photo is over its bound."""
        encoded = encode_turn(turn)
        if len(encoded) > self.max_turn_bytes:
            raise PayloadTooLarge("This turn is too long to be remembered.")
        if photo is not None and len(photo.jpeg) > self.max_photo_bytes:
            raise PayloadTooLarge("This photo is too large to be remembered.")
        return encoded


class SessionStore(Protocol):
    """Remembers conversations, each for the tenant that it was created for.

    Methods that name a session raise `SessionNotFound` when it never was, is another tenant's, was deleted or
    has expired, and `DependencyUnavailable` when the store does not answer. Turns appended at the same time
    are all kept, in the order in which the store saw them; of photos sent at once the last one stays.
    """

    async def create(self, tenant: str = PUBLIC, session_id: str | None = None) -> Session:
        """A new, empty session. `session_id`: one from `new_session_id`, if it was told already."""
        ...

    async def get(self, session_id: str, tenant: str = PUBLIC) -> Session:
        """The session as it is now."""
        ...

    async def append_turn(
        self, session_id: str, turn: Turn, photo: Photo | None = None, tenant: str = PUBLIC
    ) -> None:
        """Remember a turn and, if there is one, the photo that replaces the session's photo, in one step."""
        ...

    async def delete(self, session_id: str, tenant: str = PUBLIC) -> None:
        """Forget the session, its photo included."""
        ...

    async def close(self) -> None:
        """Let go of connections and memory."""
        ...


def new_session_id() -> str:
    """192 random bits: knowing an id is what entitles a caller to the conversation."""
    return secrets.token_urlsafe(ID_BYTES)


def require_session_id(session_id: str) -> None:
    """Refuse what cannot be an id before it becomes a key. Raises `SessionNotFound`."""
    if _ID.fullmatch(session_id) is None:
        raise SessionNotFound


_Key = tuple[str, str]
"""Tenant and session id."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A session with the sizes of its turns in bytes and its last write in seconds on the store's clock."""

    session: Session
    turn_bytes: tuple[int, ...]
    written_at: float

    @property
    def size(self) -> int:
        photo = self.session.photo
        return sum(self.turn_bytes) + (len(photo.jpeg) if photo else 0)


class MemorySessionStore:
    """A `SessionStore` for one event loop: no method suspends, so each is one step for all the others.

    When full, or beyond a tenant's allowance, the sessions that were neither read nor written for longest are
    evicted. Expired ones go at the next call of any method.
    """

    def __init__(
        self,
        limits: SessionLimits | None = None,
        *,
        max_sessions: int = 1024,
        max_bytes: int = 256 * 2**20,
        allowance_of: AllowanceOf = unlimited,
        clock: Clock = time.monotonic,
    ) -> None:
        self._limits = limits or SessionLimits()
        if max_sessions < 1 or max_bytes < self._limits.max_session_bytes:
            raise ValueError("the store must have room for at least one session of the largest size")
        self._clock = clock
        self._holdings = Holdings[_Key](Allowance(max_sessions, max_bytes), allowance_of)
        self._by_write: OrderedDict[_Key, _Kept] = OrderedDict()

    def __len__(self) -> int:
        """How many sessions are held."""
        return len(self._by_write)

    @property
    def held_bytes(self) -> int:
        """Bytes of the photos and turns that are held."""
        return self._holdings.size

    async def create(self, tenant: str = PUBLIC, session_id: str | None = None) -> Session:
        """See `SessionStore`."""
        self._forget_expired()
        session = Session(session_id or new_session_id())
        self._keep((tenant, session.session_id), session, ())
        return session

    async def get(self, session_id: str, tenant: str = PUBLIC) -> Session:
        """See `SessionStore`."""
        kept = self._find((tenant, session_id))
        self._holdings.use((tenant, session_id))
        return kept.session

    async def append_turn(
        self, session_id: str, turn: Turn, photo: Photo | None = None, tenant: str = PUBLIC
    ) -> None:
        """See `SessionStore`. Raises `PayloadTooLarge` where the turn or the photo is over its bound."""
        size = len(self._limits.admit(turn, photo))
        kept = self._find((tenant, session_id))
        newest = slice(-self._limits.max_turns, None)
        turns = (*kept.session.turns, turn)[newest]
        session = Session(session_id, photo or kept.session.photo, turns)
        self._keep((tenant, session_id), session, (*kept.turn_bytes, size)[newest])

    async def delete(self, session_id: str, tenant: str = PUBLIC) -> None:
        """See `SessionStore`."""
        self._find((tenant, session_id))
        self._drop((tenant, session_id))

    async def close(self) -> None:
        """See `SessionStore`."""
        self._holdings.clear()
        self._by_write.clear()

    def _find(self, key: _Key) -> _Kept:
        require_session_id(key[1])
        self._forget_expired()
        kept = self._by_write.get(key)
        if kept is None:
            raise SessionNotFound
        return kept

    def _keep(self, key: _Key, session: Session, turn_bytes: tuple[int, ...]) -> None:
        kept = _Kept(session, turn_bytes, self._clock())
        self._by_write[key] = kept
        self._by_write.move_to_end(key)
        for gone in self._holdings.add(key[0], key, kept.size):
            del self._by_write[gone]

    def _drop(self, key: _Key) -> None:
        self._holdings.remove(key)
        del self._by_write[key]

    def _forget_expired(self) -> None:
        oldest_kept = self._clock() - self._limits.ttl_s
        while self._by_write:
            key = next(iter(self._by_write))
            if self._by_write[key].written_at > oldest_kept:
                break
            self._drop(key)


_FORMAT = "3"
"""Part of every key: a gateway that stores sessions in another way does not find these."""

_APPEND = """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('LTRIM', KEYS[2], -tonumber(ARGV[2]), -1)
if ARGV[4] then redis.call('HSET', KEYS[1], 'photo', ARGV[4], 'jpeg', ARGV[5]) end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1 + redis.call('HSTRLEN', KEYS[1], 'jpeg') + redis.call('MEMORY', 'USAGE', KEYS[2])
"""
"""One step for all clients; gives the session's bytes, about. Arguments: turn, turns to keep, milliseconds to
live, photo's facts, JPEG.
"""
_UNANSWERED = "The session store does not answer."


class RedisSessionStore:
    """A `SessionStore` that owns `client`. `namespace` keeps platforms that share a Redis apart."""

    def __init__(
        self,
        client: Redis,
        limits: SessionLimits | None = None,
        *,
        namespace: str = "loreglass",
        allowance_of: AllowanceOf = unlimited,
    ) -> None:
        self._client = client
        self._limits = limits or SessionLimits()
        self._namespace = namespace
        self._holdings = RedisHoldings(
            client,
            f"{namespace}:session",
            self._limits.ttl_s,
            allowance_of,
            lambda tenant, session_id: self._keys(session_id, tenant),
        )
        self._append = client.register_script(_APPEND)
        self._ttl_ms = max(1, round(self._limits.ttl_s * 1000))

    async def create(self, tenant: str = PUBLIC, session_id: str | None = None) -> Session:
        """See `SessionStore`."""
        session = Session(session_id or new_session_id())
        key, _ = self._keys(session.session_id, tenant)
        with redis_errors(_UNANSWERED):
            async with self._client.pipeline(transaction=True) as pipeline:
                pipeline.delete(key)  # whatever lies there
                pipeline.hset(key, "photo", b"")
                pipeline.pexpire(key, self._ttl_ms)
                await pipeline.execute()
        return session

    async def get(self, session_id: str, tenant: str = PUBLIC) -> Session:
        """See `SessionStore`."""
        key, turns_key = self._keys(session_id, tenant)
        try:
            with redis_errors(_UNANSWERED):
                async with self._client.pipeline(transaction=True) as pipeline:
                    pipeline.hmget(key, "photo", "jpeg")
                    pipeline.lrange(turns_key, 0, -1)
                    (facts, jpeg), turns = await pipeline.execute()
            if facts is not None:
                with reading():
                    return Session(session_id, _photo(facts, jpeg), tuple(map(decode_turn, turns)))
        except Unreadable:
            await delete_unreadable(self._client, "session", key, turns_key)
        raise SessionNotFound

    async def append_turn(
        self, session_id: str, turn: Turn, photo: Photo | None = None, tenant: str = PUBLIC
    ) -> None:
        """See `SessionStore`. Raises `PayloadTooLarge` where the turn or the photo is over its bound."""
        arguments: list[str | bytes | int] = [
            self._limits.admit(turn, photo),
            self._limits.max_turns,
            self._ttl_ms,
        ]
        if photo is not None:
            arguments += [_photo_facts(photo), photo.jpeg]
        keys = self._keys(session_id, tenant)
        try:
            with redis_errors(_UNANSWERED):
                size = await self._append(keys=keys, args=arguments)
        except Unreadable:
            await delete_unreadable(self._client, "session", *keys)
            raise SessionNotFound from None
        if not size:
            raise SessionNotFound
        await self._holdings.add(tenant, session_id, size)

    async def delete(self, session_id: str, tenant: str = PUBLIC) -> None:
        """See `SessionStore`."""
        with redis_errors(_UNANSWERED):
            deleted = await self._client.delete(*self._keys(session_id, tenant))
        await self._holdings.remove(tenant, session_id)
        if not deleted:
            raise SessionNotFound

    async def close(self) -> None:
        """See `SessionStore`."""
        await self._client.aclose()

    def _keys(self, session_id: str, tenant: str) -> tuple[str, str]:
        """The braces put both keys on one node of a Redis cluster."""
        require_session_id(session_id)
        key = f"{self._namespace}:session:{_FORMAT}:{tenant}:{{{session_id}}}"
        return key, f"{key}:turns"


def _photo_facts(photo: Photo) -> str:
    return json.dumps({"width": photo.width, "height": photo.height, "digest": photo.digest})


def _photo(facts: bytes, jpeg: bytes | None) -> Photo | None:
    if not facts:
        return None
    if jpeg is None:
        raise ValueError("a photo without its bytes")
    return Photo(jpeg=jpeg, **json.loads(facts))
