"""The stores of a gateway: in its memory, or in a Redis that gateways share."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from secrets import token_bytes

from redis.asyncio import Redis

from gateway.serving.background import background_task
from gateway.serving.quotas import Rates
from gateway.serving.redis_store import RedisStore, connect, shared_secret
from gateway.serving.sessions import Sessions
from gateway.serving.tenants import Keys
from gateway.serving.traces import TTL_S, Traces
from gateway.settings import GatewaySettings, SessionBackend
from gateway.store import MemoryStore, Store

_SOUND_BYTES, _MEMORY_BYTES = 32 * 2**20, 64 * 2**20


@dataclass(frozen=True, slots=True)
class Stores:
    """`answers`: for clients that ask again, with the texts of spoken answers. `sounds`: of this gateway.
    `memories`: of what was seen.

    `redis`: None without one. `signing_secret`: the same at all gateways that share a Redis.
    """

    sessions: Sessions
    answers: Store
    sounds: Store
    memories: Store
    traces: Traces
    rates: Rates
    signing_secret: bytes
    redis: Redis | None = None


@asynccontextmanager
async def open_stores(settings: GatewaySettings, keys: Keys) -> AsyncIterator[Stores]:
    """Open the stores that the settings choose."""
    own_secret = settings.speech_secret.get_secret_value().encode()
    ttl_s = settings.session_ttl_s
    sounds = MemoryStore(_SOUND_BYTES, allowance_of=keys.answers)
    if settings.sessions is SessionBackend.MEMORY:
        sessions = MemoryStore(settings.session_bytes, settings.session_limit, keys.sessions)
        answers = MemoryStore(allowance_of=keys.answers)
        traces = Traces(settings.trace_limit, allowance_of=keys.traces)
        memories = MemoryStore(_MEMORY_BYTES, allowance_of=keys.answers)
        secret = own_secret or token_bytes(32)
        yield Stores(Sessions(sessions, ttl_s), answers, sounds, memories, traces, Rates(), secret)
        return
    async with aclosing(connect(settings.redis_url)) as redis:
        shared = RedisStore(redis, "trace", TTL_S, keys.traces)
        traces = Traces(settings.trace_limit, shared, keys.traces)
        async with background_task(traces.run):
            yield Stores(
                Sessions(RedisStore(redis, "session", ttl_s, keys.sessions), ttl_s),
                RedisStore(redis, "answer", ttl_s, keys.answers),
                sounds,
                RedisStore(redis, "memory", 86_400.0 * settings.memory_days, keys.answers),
                traces,
                Rates(redis, settings.gateways),
                own_secret or await shared_secret(redis),
                redis,
            )
