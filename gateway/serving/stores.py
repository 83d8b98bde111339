"""The stores of a gateway: in its memory, or in a Redis that gateways share."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from redis.asyncio import Redis

from chassis.resilience.deadlines import Clock
from gateway.serving.background import background_task
from gateway.serving.quotas import Rates
from gateway.serving.redis_store import RedisStore, connect
from gateway.serving.sessions import SessionLimits, Sessions
from gateway.serving.tenants import Keys
from gateway.serving.traces import TTL_S, Traces
from gateway.settings import GatewaySettings, SessionBackend
from gateway.store import MemoryStore, Store

_SOUND_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class Stores:
    """`answers`: for clients that ask again, with the texts of spoken answers. `sounds`: of this gateway.

    `redis`: None without one.
    """

    sessions: Sessions
    answers: Store
    sounds: Store
    traces: Traces
    rates: Rates
    redis: Redis | None = None


@asynccontextmanager
async def open_stores(settings: GatewaySettings, keys: Keys, clock: Clock) -> AsyncIterator[Stores]:
    """Open the stores that the settings choose."""
    ttl_s, limits = settings.session_ttl_s, SessionLimits(ttl_s=settings.session_ttl_s)
    sounds = MemoryStore(_SOUND_BYTES, allowance_of=keys.answers, clock=clock)
    if settings.sessions is SessionBackend.MEMORY:
        sessions = MemoryStore(settings.session_bytes, settings.session_limit, keys.sessions, clock)
        answers = MemoryStore(allowance_of=keys.answers, clock=clock)
        traces = Traces(settings.trace_limit, allowance_of=keys.traces)
        yield Stores(Sessions(sessions, limits), answers, sounds, traces, Rates())
        return
    async with aclosing(connect(settings.redis_url)) as redis:
        shared = RedisStore(redis, "trace", TTL_S, keys.traces)
        traces = Traces(settings.trace_limit, shared, keys.traces)
        async with background_task(traces.run):
            yield Stores(
                Sessions(RedisStore(redis, "session", ttl_s, keys.sessions), limits),
                RedisStore(redis, "answer", ttl_s, keys.answers),
                sounds,
                traces,
                Rates(redis, settings.gateways, clock),
                redis,
            )
