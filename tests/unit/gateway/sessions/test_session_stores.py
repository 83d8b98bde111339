"""What every session store does, each test against the memory store and against a real Redis."""

import asyncio
import re

import pytest

from chassis.errors import PayloadTooLarge, SessionNotFound
from gateway.serving.sessions import Session
from gateway.serving.tenants import PUBLIC
from gateway.state import Turn
from tests.unit.gateway.sessions.harness import LIMITS, Sessions, photo, turn

pytestmark = pytest.mark.anyio


async def test_a_new_session_is_empty_and_its_id_unique_and_safe_in_a_url(sessions: Sessions) -> None:
    created = await sessions.store.create()
    assert created == Session(created.session_id, photo=None, turns=())
    assert await sessions.store.get(created.session_id, PUBLIC) == created
    ids = {(await sessions.store.create()).session_id for _ in range(20)}
    assert len(ids) == 20
    assert all(re.fullmatch(r"[\w-]{32}", each, re.ASCII) for each in ids)


async def test_turns_and_photo_come_back_as_they_were(sessions: Sessions) -> None:
    session_id = (await sessions.store.create()).session_id
    turns = (turn("Wer baute den Turm?\x00", "Ich weiß es nicht. 🗼"), Turn("And now?", "", abstained=True))
    await sessions.store.append_turn(session_id, turns[0], photo(b"first"))
    await sessions.store.append_turn(session_id, turns[0], photo())
    await sessions.store.append_turn(session_id, turns[1])
    assert await sessions.store.get(session_id) == Session(session_id, photo(), (turns[0], *turns))


async def test_only_the_latest_turns_are_kept(sessions: Sessions) -> None:
    session_id = (await sessions.store.create()).session_id
    for number in range(LIMITS.max_turns + 3):
        await sessions.store.append_turn(session_id, turn(f"question {number}"))
    kept = (await sessions.store.get(session_id)).turns
    assert [each.question for each in kept] == [
        f"question {number}" for number in range(3, LIMITS.max_turns + 3)
    ]


async def test_turns_appended_at_the_same_time_are_all_kept(sessions: Sessions) -> None:
    session_id = (await sessions.store.create()).session_id
    questions = [f"question {number}" for number in range(LIMITS.max_turns)]
    await asyncio.gather(*(sessions.store.append_turn(session_id, turn(each), photo()) for each in questions))
    session = await sessions.store.get(session_id)
    assert sorted(each.question for each in session.turns) == questions
    assert session.photo == photo()


async def test_a_session_belongs_to_the_tenant_that_began_it(sessions: Sessions) -> None:
    store = sessions.store
    session_id = (await store.create("acme")).session_id
    await store.append_turn(session_id, turn(), photo(), "acme")
    for stranger in ("globex", PUBLIC, "acme:", ""):
        with pytest.raises(SessionNotFound):
            await store.get(session_id, stranger)
        with pytest.raises(SessionNotFound):
            await store.append_turn(session_id, turn("mine now"), photo(b"mine"), stranger)
        with pytest.raises(SessionNotFound):
            await store.delete(session_id, stranger)
    assert await store.get(session_id, "acme") == Session(session_id, photo(), (turn(),))
    await store.delete(session_id, "acme")
    await _assert_unknown(sessions, session_id, "acme")


async def test_a_session_expires_with_and_without_turns(sessions: Sessions) -> None:
    empty, used = [(await sessions.store.create()).session_id for _ in range(2)]
    await sessions.store.append_turn(used, turn(), photo())
    await sessions.pass_time(LIMITS.ttl_s)
    await _assert_unknown(sessions, empty)
    await _assert_unknown(sessions, used)


async def test_each_turn_gives_the_whole_session_its_full_time_again(sessions: Sessions) -> None:
    session_id = (await sessions.store.create()).session_id
    await sessions.store.append_turn(session_id, turn("first"), photo())
    for _ in range(2):
        await sessions.pass_time(LIMITS.ttl_s * 0.75)
        await sessions.store.append_turn(session_id, turn("next"))
    session = await sessions.store.get(session_id)
    assert [each.question for each in session.turns] == ["first", "next", "next"]
    assert session.photo == photo()


async def test_reading_a_session_does_not_lengthen_its_life(sessions: Sessions) -> None:
    session_id = (await sessions.store.create()).session_id
    await sessions.pass_time(LIMITS.ttl_s * 0.75)
    await sessions.store.get(session_id)
    await sessions.pass_time(LIMITS.ttl_s * 0.25)
    await _assert_unknown(sessions, session_id)


@pytest.mark.parametrize(
    "session_id",
    ["", "x", "*", "a" * 33, "{" * 32, "é" * 32, "a" * 31 + "\n", "\ud800" * 32, "a-Valid_form0" + "x" * 19],
)
async def test_what_cannot_be_an_id_is_an_unknown_session(sessions: Sessions, session_id: str) -> None:
    await _assert_unknown(sessions, session_id)


@pytest.mark.parametrize(
    ("text", "jpeg"), [("next", bytes(LIMITS.max_photo_bytes + 1)), ("?" * LIMITS.max_turn_bytes, b"small")]
)
async def test_too_large_a_photo_or_turn_is_refused_and_nothing_is_lost(
    sessions: Sessions, text: str, jpeg: bytes
) -> None:
    session_id = (await sessions.store.create()).session_id
    await sessions.store.append_turn(session_id, turn(), photo())
    before = await sessions.store.get(session_id)
    with pytest.raises(PayloadTooLarge):
        await sessions.store.append_turn(session_id, turn(text), photo(jpeg))
    assert await sessions.store.get(session_id) == before


async def _assert_unknown(sessions: Sessions, session_id: str, tenant: str = PUBLIC) -> None:
    with pytest.raises(SessionNotFound):
        await sessions.store.get(session_id, tenant)
    with pytest.raises(SessionNotFound):
        await sessions.store.append_turn(session_id, turn(), photo(), tenant)
    with pytest.raises(SessionNotFound):
        await sessions.store.delete(session_id, tenant)
