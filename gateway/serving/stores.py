"""Stores of conversations, traces and answers: in memory, or in a Redis that gateways share.

A session is one entry of its store: a list with the photo as its head, and then the turns. The newest traces
are in memory and, with a shared store, also there.
"""

import asyncio
import json
import re
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass
from secrets import token_bytes

import structlog
from pydantic import TypeAdapter
from pydantic_core import from_json
from redis.asyncio import Redis

from chassis.errors import DependencyUnavailable, PayloadTooLarge, SessionNotFound, TraceNotFound
from contracts.answer import Trace
from gateway.planning.prefetch import background_task
from gateway.serving.admission import Rates
from gateway.serving.redis_store import RedisStore, connect, shared_secret
from gateway.serving.tenants import PUBLIC, Keys
from gateway.settings import GatewaySettings, SessionBackend
from gateway.state import Photo, Turn
from gateway.store import (
    Allowance,
    AllowanceOf,
    Entries,
    ListChange,
    MemoryStore,
    Store,
    delete_unreadable,
    read_stored,
    unlimited,
)

ID_BYTES = 24
"""Random bytes in a session id, before base64."""
MOST_TURNS = 12
"""The turns that a session keeps, the latest ones."""
MOST_PHOTO_BYTES, MOST_TURN_BYTES = 8 * 2**20, 256 * 2**10
"""The largest JPEG, and the largest turn as JSON. Larger ones are refused."""
_ID = re.compile(r"[A-Za-z0-9_-]{32}")


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation: the photo it is about, if any, and its latest turns, oldest first."""

    session_id: str
    photo: Photo | None = None
    turns: tuple[Turn, ...] = ()


class Sessions:
    """Remembers conversations, each for its tenant and for `ttl_s` seconds after its last write.

    Methods raise `SessionNotFound` if a session never was, is another tenant's, was deleted or has expired,
    and `DependencyUnavailable` if the store does not answer. Turns appended at the same time are all stored;
    of photos sent at the same time the last one stays.
    """

    def __init__(self, store: Store, ttl_s: float = 3600.0) -> None:
        self._store = store
        self._ttl_s = ttl_s

    async def get(self, session_id: str, tenant: str = PUBLIC) -> Session:
        key = _key(session_id, tenant)
        items = await self._store.items(key)
        if items:
            try:
                return _decode_session(session_id, items)
            except (ValueError, TypeError):
                await delete_unreadable(self._store, key, tenant, "session")
        raise SessionNotFound

    async def append_turn(
        self,
        session_id: str,
        turn: Turn,
        photo: Photo | None = None,
        tenant: str = PUBLIC,
        *,
        create: bool = False,
    ) -> None:
        """Store a turn and, if there is one, the photo that replaces the session's photo, in one step.

        `create`: begin the session if there is none. Raises `PayloadTooLarge` if the turn or the photo is
        larger than its bound.
        """
        item = encode_turn(turn)
        if len(item) > MOST_TURN_BYTES:
            raise PayloadTooLarge("This turn is too long to be remembered.")
        if photo is not None and len(photo.jpeg) > MOST_PHOTO_BYTES:
            raise PayloadTooLarge("This photo is too large to be remembered.")
        head = None
        if photo is not None:
            facts = {"width": photo.width, "height": photo.height, "digest": photo.digest}
            head = b"\n".join((json.dumps(facts).encode(), photo.jpeg))
        change = ListChange(MOST_TURNS, head, create)
        if not await self._store.append(_key(session_id, tenant), item, self._ttl_s, tenant, change):
            raise SessionNotFound

    async def delete(self, session_id: str, tenant: str = PUBLIC) -> None:
        """Forget the session, its photo included."""
        if not await self._store.delete(_key(session_id, tenant), tenant):
            raise SessionNotFound


def new_session_id() -> str:
    """Return 192 random bits: knowing an id is what entitles a caller to the conversation."""
    return secrets.token_urlsafe(ID_BYTES)


def _key(session_id: str, tenant: str) -> str:
    """Return the key of a session. Raises `SessionNotFound` if the id is malformed."""
    if _ID.fullmatch(session_id) is None:
        raise SessionNotFound
    return f"{tenant}:{session_id}"


_TURN = TypeAdapter(Turn)


def encode_turn(turn: Turn) -> bytes:
    """Return the turn as UTF-8 JSON, with `?` for a lone surrogate and `NaN` for such a number."""
    return json.dumps(asdict(turn), ensure_ascii=False).encode(errors="replace")


def _decode_session(session_id: str, items: Sequence[bytes]) -> Session:
    """Raise an error that `Sessions.get` catches if the items have another format."""
    head, *turns = items
    facts, _, jpeg = head.partition(b"\n")
    photo = Photo(jpeg=jpeg, **from_json(facts)) if head else None
    return Session(session_id, photo, tuple(map(_TURN.validate_json, turns)))


_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_MOST_UNSHARED = 256
TRACE_TTL_S = 600.0
"""In the shared store. Not long: traces lie beside people's sessions, and each is a few kilobytes."""

log = structlog.get_logger()


class Traces:
    """Stores traces, each for its tenant only: `limit` in memory, and in `shared` for `TRACE_TTL_S` seconds.

    No question waits for the shared store: `run` writes there. If too many wait, the newest are not shared.
    What is not written yet is lost with the process, as the traces in memory are.
    """

    def __init__(
        self, limit: int, shared: Store | None = None, allowance_of: AllowanceOf = unlimited
    ) -> None:
        self._own = Entries[Trace](Allowance(limit), allowance_of)
        self._shared = shared
        self._unshared = asyncio.Queue[tuple[str, str, Trace]](_MOST_UNSHARED)

    def add(self, trace: Trace, tenant: str) -> None:
        """Store a trace; the oldest is evicted."""
        key = f"{tenant}:{trace.trace_id}"
        self._own.put(key, trace, 0, tenant)
        if self._shared is not None and not self._unshared.full():
            self._unshared.put_nowait((key, tenant, trace))

    async def get(self, trace_id: str, tenant: str) -> Trace:
        """Return the trace. Raises `TraceNotFound`, or `DependencyUnavailable` if the store fails."""
        key = f"{tenant}:{trace_id}"
        trace = self._own.get(key)
        if trace is None and self._shared is not None and _TRACE_ID.fullmatch(trace_id):
            trace = await read_stored(self._shared, key, tenant, Trace, "trace")
        if trace is None:
            raise TraceNotFound("There is no trace with this id, or it is no longer kept.")
        return trace

    async def run(self) -> None:
        """Write new traces to the shared store, until cancelled."""
        while self._shared is not None:
            key, tenant, trace = await self._unshared.get()
            try:
                await self._shared.put(key, trace.model_dump_json().encode(), TRACE_TTL_S, tenant)
            except DependencyUnavailable as error:
                log.warning("trace_not_shared", reason=error.kind.value)


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
        shared = RedisStore(redis, "trace", TRACE_TTL_S, keys.traces)
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
