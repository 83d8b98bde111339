"""Traces that gateways share in a real Redis are found by all of them."""

import uuid
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from bench.ports import free_ports
from chassis.errors import DependencyUnavailable, TraceNotFound
from contracts.answer import Trace
from gateway.serving.background import background_task
from gateway.serving.redis_store import RedisStore, connect
from gateway.serving.stores import _MOST_UNSHARED, TTL_S, Traces
from gateway.store import Allowance, MemoryStore

pytestmark = pytest.mark.anyio


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


async def test_a_trace_is_found_by_another_gateway_and_by_its_tenant_only(
    redis_client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace, written = uuid.uuid4().hex, anyio.Event()
    one, other = (Traces(10, RedisStore(redis_client, "trace", TTL_S, namespace=namespace)) for _ in range(2))
    write = RedisStore.put

    async def put(*arguments: Any) -> None:
        await write(*arguments)
        written.set()

    monkeypatch.setattr(RedisStore, "put", put)
    async with background_task(one.run):
        one.add(trace(), "acme")
        with anyio.fail_after(10):
            await written.wait()
    assert await other.get(ID, "acme") == trace()
    with pytest.raises(TraceNotFound):
        await other.get(ID, "bolt")
    [key] = await redis_client.keys(f"{namespace}:*")
    assert b":acme:" in key
    assert 0 < await redis_client.pttl(key) <= TTL_S * 1000


async def test_only_trace_ids_are_looked_for_in_the_shared_store() -> None:
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
    [closed] = free_ports(1)
    async with aclosing(connect(f"redis://127.0.0.1:{closed}/0")) as client:
        traces = Traces(10, RedisStore(client, "trace", TTL_S))
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
