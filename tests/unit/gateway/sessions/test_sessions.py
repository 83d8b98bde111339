"""Sessions and traces over the memory store and a real Redis. `test_store.py` has the store itself."""

import math
import uuid
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import anyio
import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from chassis.errors import DependencyUnavailable, PayloadTooLarge, SessionNotFound, TraceNotFound
from contracts.answer import Trace
from gateway.planning.prefetch import background_task
from gateway.serving.redis_store import RedisStore, connect
from gateway.serving.stores import (
    _MOST_UNSHARED,
    MOST_PHOTO_BYTES,
    MOST_TURN_BYTES,
    TRACE_TTL_S,
    Session,
    Sessions,
    Traces,
    encode_turn,
    new_session_id,
)
from gateway.serving.tenants import PUBLIC
from gateway.state import Entity, Turn
from gateway.store import Allowance, ListChange, MemoryStore
from tests.live import closed_port
from tests.unit.gateway.sessions.harness import TTL_S, Backend, photo, turn


@pytest.fixture
def sessions(backend: Backend) -> Sessions:
    return Sessions(backend.store, TTL_S)


async def begin(sessions: Sessions, *append: Any, **options: Any) -> str:
    session_id = new_session_id()
    await sessions.append_turn(session_id, *(append or (turn(),)), **options, create=True)
    return session_id


async def assert_unknown(sessions: Sessions, session_id: str, tenant: str = PUBLIC) -> None:
    with pytest.raises(SessionNotFound):
        await sessions.get(session_id, tenant)
    with pytest.raises(SessionNotFound):
        await sessions.append_turn(session_id, turn("mine now"), photo(b"mine"), tenant)
    with pytest.raises(SessionNotFound):
        await sessions.delete(session_id, tenant)


async def test_turns_and_the_newest_photo_are_restored(sessions: Sessions) -> None:
    turns = (turn("Wer baute den Turm?\x00", "Ich weiß es nicht. 🗼"), Turn("And now?", "", abstained=True))
    session_id = await begin(sessions, turns[0])
    assert await sessions.get(session_id) == Session(session_id, None, turns[:1])
    await sessions.append_turn(session_id, turns[0], photo(b"first"))
    await sessions.append_turn(session_id, turns[0], photo())
    await sessions.append_turn(session_id, turns[1])
    assert await sessions.get(session_id) == Session(session_id, photo(), (*[turns[0]] * 3, turns[1]))


async def test_a_turn_with_odd_text_and_numbers_is_readable(sessions: Sessions) -> None:
    thing = replace(turn().entity or Entity("", 0), name="T\ud800m", probability=math.nan, cosine=math.inf)
    session_id = await begin(sessions, replace(turn("Who\udfff?"), entity=thing))
    [stored] = (await sessions.get(session_id)).turns
    assert (stored.question, stored.entity and stored.entity.name) == ("Who??", "T?m")


async def test_a_session_belongs_to_its_tenant(sessions: Sessions) -> None:
    session_id = await begin(sessions, turn(), photo(), tenant="acme")
    for stranger in ("globex", PUBLIC, "acme:", ""):
        await assert_unknown(sessions, session_id, stranger)
    assert await sessions.get(session_id, "acme") == Session(session_id, photo(), (turn(),))
    await sessions.delete(session_id, "acme")
    await assert_unknown(sessions, session_id, "acme")


@pytest.mark.parametrize(
    "session_id",
    ["", "x", "*", "a" * 33, "{" * 32, "é" * 32, "a" * 31 + "\n", "\ud800" * 32, "a-Valid_form0" + "x" * 19],
)
async def test_invalid_id_is_an_unknown_session(sessions: Sessions, session_id: str) -> None:
    await assert_unknown(sessions, session_id)


@pytest.mark.parametrize(
    ("text", "jpeg"), [("next", bytes(MOST_PHOTO_BYTES + 1)), ("?" * MOST_TURN_BYTES, b"small")]
)
async def test_a_photo_or_turn_that_is_too_large_changes_nothing(
    sessions: Sessions, text: str, jpeg: bytes
) -> None:
    session_id = await begin(sessions, turn(), photo())
    before = await sessions.get(session_id)
    with pytest.raises(PayloadTooLarge):
        await sessions.append_turn(session_id, turn(text), photo(jpeg))
    assert await sessions.get(session_id) == before


@pytest.mark.parametrize(
    "garbage", [b"{", b"[]", b"null", b"\xff", b'{"question":1,"entity":null}', b"[" * 10_000]
)
@pytest.mark.parametrize("part", ["turn", "photo"])
async def test_a_turn_or_photo_of_another_program_is_deleted(
    backend: Backend, sessions: Sessions, garbage: bytes, part: str
) -> None:
    session_id = await begin(sessions, turn(), photo(), tenant="acme")
    item, head = (garbage, None) if part == "turn" else (encode_turn(turn()), garbage)
    await backend.store.append(f"acme:{session_id}", item, TTL_S, "acme", ListChange(9, head))
    with capture_logs() as logs:
        for _ in range(2):
            with pytest.raises(SessionNotFound):
                await sessions.get(session_id, "acme")
    assert [line["what"] for line in logs] == ["session"]


def trace(number: int = 0) -> Trace:
    return Trace(trace_id=f"{number:032x}", pipeline="loreglass", deadline_ms=10_000, total_ms=1.5, stages=[])


ID = trace().trace_id


async def test_the_newest_traces_of_a_tenant_stay_in_memory() -> None:
    traces = Traces(3, allowance_of=lambda tenant: Allowance(2 if tenant == "acme" else 9))
    for number in range(4):
        traces.add(trace(number), "acme")
    traces.add(trace(9), "bolt")
    assert [await traces.get(f"{number:032x}", "acme") for number in (2, 3)] == [trace(2), trace(3)]
    for trace_id, tenant in ((trace(1).trace_id, "acme"), (trace(9).trace_id, "acme"), ("", "bolt")):
        with pytest.raises(TraceNotFound):
            await traces.get(trace_id, tenant)


async def test_a_trace_is_found_by_another_gateway_and_by_its_tenant_only(redis_client: Redis) -> None:
    namespace, keys = uuid.uuid4().hex, list[bytes]()
    one, other = (
        Traces(10, RedisStore(redis_client, "trace", TRACE_TTL_S, namespace=namespace)) for _ in range(2)
    )
    async with background_task(one.run):
        one.add(trace(), "acme")
        with anyio.fail_after(10):
            while not keys:
                keys = await redis_client.keys(f"{namespace}:*:acme:*")
    assert await other.get(ID, "acme") == trace()
    with pytest.raises(TraceNotFound):
        await other.get(ID, "bolt")
    assert 0 < await redis_client.pttl(keys[0]) <= TRACE_TTL_S * 1000


async def test_shared_store_is_searched_by_trace_ids_only() -> None:
    shared = MemoryStore()
    await shared.put("acme:of:0", trace().model_dump_json().encode(), 60, "acme")
    with pytest.raises(TraceNotFound):
        await Traces(10, shared).get("of:0", "acme")


async def test_invalid_trace_is_deleted() -> None:
    shared = MemoryStore()
    await shared.put(f"acme:{ID}", b"none of ours", 60, "acme")
    with capture_logs() as logs, pytest.raises(TraceNotFound):
        await Traces(10, shared).get(ID, "acme")
    assert [line["what"] for line in logs] == ["trace"]
    assert await shared.get(f"acme:{ID}") is None


async def test_a_gateways_own_traces_are_found_while_redis_is_down() -> None:
    async with aclosing(connect(closed_port().replace("http", "redis"))) as client:
        traces = Traces(10, RedisStore(client, "trace", TRACE_TTL_S))
        async with background_task(traces.run):
            traces.add(trace(), "acme")
            assert await traces.get(ID, "acme") == trace()
            with pytest.raises(DependencyUnavailable):
                await traces.get(trace(1).trace_id, "acme")


async def test_if_too_many_traces_wait_the_newest_are_not_shared() -> None:
    shared = MemoryStore()
    traces = Traces(10, shared)
    for number in range(1_000):
        traces.add(trace(number), "acme")
    async with background_task(traces.run):
        await anyio.wait_all_tasks_blocked()
    assert shared.entries.usage.count == _MOST_UNSHARED
