"""A gateway that shares a budget, from outside: what it says with Redis, and without."""

import anyio
import pytest

from bench.ports import free_ports
from gateway.serving.leases import SHARED_BUDGET
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import gateway_before

pytestmark = pytest.mark.anyio


async def test_without_redis_it_answers_with_its_part_and_says_so(services: FakeServices) -> None:
    [port] = free_ports(1)
    url = f"redis://127.0.0.1:{port}/0"
    async with gateway_before(services, shared_budget="node", gateways=3, redis_url=url) as world:
        with anyio.fail_after(60):
            body = (await world.post(photo=None, deadline_ms="30000")).json()
        ready = (await world.client.get("/health/ready")).json()
        metrics = (await world.client.get("/metrics")).text
    assert SHARED_BUDGET in body["degraded"]
    assert ready["checks"][SHARED_BUDGET] == "each gateway takes its part alone"
    assert "loreglass_budget_alone 1.0" in metrics
    assert 'loreglass_budget_places{of="leased",pool="admission-full"} 2.0' in metrics


async def test_with_redis_it_answers_in_full(services: FakeServices, redis_url: str) -> None:
    async with gateway_before(services, shared_budget="node", gateways=3, redis_url=redis_url) as world:
        with anyio.fail_after(60):
            body = (await world.post(photo=None, deadline_ms="30000")).json()
        ready = (await world.client.get("/health/ready")).json()
    assert SHARED_BUDGET not in body["degraded"]
    assert body["reason"] != "overloaded"
    assert ready["checks"][SHARED_BUDGET] == "ok"
