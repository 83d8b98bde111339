"""Traces that gateways share in a real Redis: found whichever of them is asked."""

import uuid
from contextlib import aclosing
from typing import Any

import anyio
import pytest
from redis.asyncio import Redis

from bench.ports import free_ports
from chassis.errors import DependencyUnavailable, TraceNotFound
from contracts.answer import Trace
from gateway.planning.run import side_by_side
from gateway.serving.stores import connect
from gateway.serving.traces import _FORMAT, _WAITING, MemoryTraceStore, SharedTraceStore

pytestmark = pytest.mark.anyio

TTL_S = 60.0


def trace(trace_id: str = "0" * 32) -> Trace:
    return Trace(trace_id=trace_id, pipeline="loreglass", deadline_ms=10_000, total_ms=1.5, stages=[])


def store(url: str, namespace: str, limit: int = 10) -> aclosing[SharedTraceStore]:
    """That of one gateway."""
    client = connect(url, timeout_s=10)
    return aclosing(SharedTraceStore(MemoryTraceStore(limit), client, TTL_S, namespace))


async def test_a_trace_is_found_by_another_gateway_and_by_its_tenant_only(
    redis_url: str, redis_client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace, written = uuid.uuid4().hex, anyio.Event()
    write = Redis.set

    async def write_and_tell(*asked: Any, **options: Any) -> None:
        await write(*asked, **options)
        written.set()

    monkeypatch.setattr(Redis, "set", write_and_tell)
    async with (
        store(redis_url, namespace) as one,
        store(redis_url, namespace) as other,
        side_by_side() as group,
    ):
        group.start_soon(one.run)
        one.add(trace(), "acme")
        with anyio.fail_after(10):
            await written.wait()
        assert await other.get("0" * 32, "acme") == trace()
        with pytest.raises(TraceNotFound):
            await other.get("0" * 32, "somebody")
        [key] = await redis_client.keys(f"{namespace}:*")
        assert 0 < await redis_client.pttl(key) <= TTL_S * 1000
        group.cancel_scope.cancel()


async def test_what_is_no_trace_id_is_not_looked_for(redis_url: str, redis_client: Redis) -> None:
    namespace = uuid.uuid4().hex
    await redis_client.set(f"{namespace}:trace:{_FORMAT}:acme:of:0", trace().model_dump_json())
    async with store(redis_url, namespace) as shared:
        with pytest.raises(TraceNotFound):
            await shared.get("of:0", "acme")


async def test_a_gateway_s_own_traces_are_found_while_redis_is_down() -> None:
    [closed] = free_ports(1)
    async with store(f"redis://127.0.0.1:{closed}/0", "gone") as shared, side_by_side() as group:
        group.start_soon(shared.run)
        shared.add(trace(), "acme")
        assert await shared.get("0" * 32, "acme") == trace()
        with pytest.raises(DependencyUnavailable) as raised:
            await shared.get("1" * 32, "acme")
        group.cancel_scope.cancel()
    assert "127.0.0.1" not in raised.value.detail


async def test_of_too_many_traces_that_wait_the_newest_are_shared(
    redis_url: str, redis_client: Redis
) -> None:
    namespace = uuid.uuid4().hex
    async with store(redis_url, namespace) as shared, side_by_side() as group:
        for number in range(1_000):
            shared.add(trace(f"{number:032x}"), "acme")
        group.start_soon(shared.run)
        with anyio.fail_after(30):
            while not await redis_client.exists(f"{namespace}:trace:{_FORMAT}:acme:{999:032x}"):
                pass
        group.cancel_scope.cancel()
    assert len(await redis_client.keys(f"{namespace}:*:acme:*")) == _WAITING
