"""Sessions in Redis, for several gateways that share conversations.

A session is two keys that live and die together: a hash with the photo and a list with the turns. Redis
itself bounds the total: give it `maxmemory` and `maxmemory-policy volatile-ttl` or `volatile-lru`.
"""

import json

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from chassis.errors import SessionNotFound
from gateway.serving.holdings import AllowanceOf, RedisHoldings, unlimited
from gateway.serving.redis_values import Unreadable, delete_unreadable, reading, redis_errors
from gateway.serving.sessions.encoding import decode_turn
from gateway.serving.sessions.port import Session, SessionLimits, new_session_id, require_session_id
from gateway.serving.tenants import PUBLIC
from gateway.state import Photo, Turn

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


def connect(url: str, *, timeout_s: float = 1.0, max_connections: int = 32) -> Redis:
    """A client that waits `timeout_s` at most for a connection, and as long again for its reply.

    It never repeats a command: a turn whose reply was lost would be remembered twice.
    """
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=max_connections,
        timeout=timeout_s,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(NoBackoff(), 0),
    )
    return Redis.from_pool(pool)


def _photo_facts(photo: Photo) -> str:
    return json.dumps({"width": photo.width, "height": photo.height, "digest": photo.digest})


def _photo(facts: bytes, jpeg: bytes | None) -> Photo | None:
    if not facts:
        return None
    if jpeg is None:
        raise ValueError("a photo without its bytes")
    return Photo(jpeg=jpeg, **json.loads(facts))
