"""The memory store stays inside its bounds whatever is asked of it."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.errors import SessionNotFound
from gateway.serving.sessions import MemorySessionStore, Session, SessionLimits, encode_turn
from tests.unit.gateway.sessions.harness import ManualClock, photo, turn

LIMITS = SessionLimits(max_turns=3, max_photo_bytes=400, max_turn_bytes=400, ttl_s=10)
MAX_SESSIONS = 4
MAX_BYTES = 2500

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.just(0), st.just(0)),
        st.tuples(st.sampled_from(["append", "get", "delete"]), st.integers(0, 7), st.integers(0, 400)),
        st.tuples(st.just("wait"), st.integers(0, 11), st.just(0)),
    ),
    max_size=40,
)


def _size(session: Session) -> int:
    photo_bytes = len(session.photo.jpeg) if session.photo else 0
    return sum(len(encode_turn(each)) for each in session.turns) + photo_bytes


class Walk:
    """Drives a store and remembers what was written when, to tell what may still be there."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        bounds = {"max_sessions": MAX_SESSIONS, "max_bytes": MAX_BYTES}
        self.store = MemorySessionStore(LIMITS, **bounds, clock=self.clock)
        self.written: dict[str, float] = {}
        self.gone: set[str] = set()

    async def step(self, what: str, which: int, size: int) -> None:
        """Do one thing; a step that names a session takes the `which`-th that was ever created."""
        if what == "create":
            await self._wrote((await self.store.create()).session_id)
        elif what == "wait":
            self.clock.now += which
        elif which < len(self.written):
            await self._touch(what, list(self.written)[which], size)
        assert len(self.store) <= MAX_SESSIONS
        assert self.store.held_bytes <= MAX_BYTES

    async def _touch(self, what: str, session_id: str, size: int) -> None:
        try:
            if what == "append":
                await self.store.append_turn(session_id, turn(), photo(bytes(size)) if size else None)
                await self._wrote(session_id)
            elif what == "get":
                await self.store.get(session_id)
                assert self.clock.now - self.written[session_id] < LIMITS.ttl_s
            else:
                await self.store.delete(session_id)
        except SessionNotFound:
            self.gone.add(session_id)

    async def _wrote(self, session_id: str) -> None:
        assert session_id not in self.gone
        self.written[session_id] = self.clock.now
        assert (await self.store.get(session_id)).session_id == session_id

    async def check_counts(self) -> None:
        """The store's figures are those of the sessions that can still be read."""
        found = []
        for session_id in self.written:
            with suppress(SessionNotFound):
                found.append(await self.store.get(session_id))
        assert len(found) == len(self.store)
        assert sum(map(_size, found)) == self.store.held_bytes


@given(STEPS)
def test_the_store_never_exceeds_its_bounds(steps: list[tuple[str, int, int]]) -> None:
    async def walk() -> None:
        walked = Walk()
        for step in steps:
            await walked.step(*step)
        await walked.check_counts()

    asyncio.run(walk())


@pytest.mark.anyio
async def test_the_least_recently_used_session_is_evicted() -> None:
    store = MemorySessionStore(LIMITS, max_sessions=3, max_bytes=MAX_BYTES)
    first, second, third = [(await store.create()).session_id for _ in range(3)]
    await store.get(first)
    await store.append_turn(second, turn())
    await store.create()
    with pytest.raises(SessionNotFound):
        await store.get(third)
    assert (await store.get(first)).session_id == first
    assert len((await store.get(second)).turns) == 1
    await store.close()
    assert (len(store), store.held_bytes) == (0, 0)


def test_unusable_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="room"):
        MemorySessionStore(LIMITS, max_bytes=LIMITS.max_session_bytes - 1)
    with pytest.raises(ValueError, match="positive"):
        SessionLimits(max_turns=0)
