"""Sessions in the gateway's own memory, for one process: bounded by count, by bytes and by age."""

import time
from collections import OrderedDict
from dataclasses import dataclass

from chassis.errors import SessionNotFound
from chassis.resilience.deadlines import Clock
from gateway.serving.holdings import Allowance, AllowanceOf, Holdings, unlimited
from gateway.serving.sessions.port import Session, SessionLimits, new_session_id, require_session_id
from gateway.serving.tenants import PUBLIC
from gateway.state import Photo, Turn

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
