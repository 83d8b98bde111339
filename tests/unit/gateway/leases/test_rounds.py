"""One gateway's rounds: calls that last long, that overtake each other, and holders that are no nodes."""

import uuid
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisAway

from chassis.resilience.gates import Gate
from gateway.serving.leases import MOST_PLACES, Leases
from tests.unit.gateway.sessions.harness import ManualClock

pytestmark = pytest.mark.anyio


class Stopping:
    """A client whose calls succeed until `stops_s`: then the process is stopped in one, and hears nothing."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.stops_s = 0.0

    def register_script(self, _: str) -> Any:
        async def run(keys: list[str], args: list[Any]) -> list[list[int]]:
            if self.stops_s:
                self._clock.now += self.stops_s
                raise RedisAway
            return [[1, 8, 8, 8, 1] for _ in keys[1:]]

        return run


async def test_a_gateway_that_was_stopped_within_a_call_uses_nothing_of_before() -> None:
    clock = ManualClock()
    client = Stopping(clock)
    leases = Leases(client, "node", 3, clock)  # type: ignore[arg-type]
    gate = Gate("vlm", 8, 10)
    leases.share("vlm", gate, 8)
    await leases.round()
    assert gate.capacity == 8
    client.stops_s = 60.0
    await leases.round()
    assert gate.capacity == 0


async def test_a_redis_that_is_away_leaves_what_is_leased_and_then_a_part() -> None:
    clock = ManualClock()
    client = Stopping(clock)
    leases = Leases(client, "node", 4, clock)  # type: ignore[arg-type]
    gate = Gate("vlm", 8, 10)
    leases.share("vlm", gate, 8)
    await leases.round()
    client.stops_s = 0.5
    capacities = []
    for _ in range(16):
        await leases.round()
        capacities.append(gate.capacity)
    assert capacities[0] == 1, "it needs none, and keeps a spare one"
    assert capacities[-1] == 2
    assert leases.lacking() == "shared_budget"


@pytest.fixture
async def script(redis_client: Redis) -> Any:
    """The script, before a budget whose first quiet time is over: `ask(holder, fence, keep, want, ...)`."""
    leases = Leases(redis_client, "any")
    prefix = f"loreglass:budget:1:{{{uuid.uuid4().hex}}}"

    async def ask(
        holder: str, fence: int, keep: int, want: int, whole: int, each: int, gateways: int = 2
    ) -> Any:
        seen = await redis_client.get(prefix)
        if seen is not None:
            run, now, _ = seen.split()
            await redis_client.set(prefix, b"%b %b 0" % (run, now))
        keys = [prefix, f"{prefix}:vlm"]
        args = [holder, 3000, gateways, fence, keep, want, whole, each]
        return (await leases._script(keys=keys, args=args))[0]

    await ask("first", 0, 0, 0, 8, 0)
    return ask


async def test_a_call_that_was_overtaken_takes_nothing_away(script: Any) -> None:
    fence, held, *_ = await script("a", 0, 0, 6, 8, 0)
    assert held == 6
    later, held, *_ = await script("a", fence, 6, 8, 8, 0)
    assert held == 8
    assert (await script("a", fence, 2, 2, 8, 0))[:2] == [later, 2]
    _, held, *_ = await script("b", 0, 0, 8, 8, 0)
    assert held == 0, "Redis still counts eight as those of the first"


async def test_gateways_that_end_bring_no_nodes_along(script: Any) -> None:
    for holder in "abc":
        *_, prospect, _ = await script(holder, 0, 0, 1, 10, 1, gateways=2)
    assert prospect <= 2 * 10


async def test_no_bound_has_more_places_than_the_script_can_read(redis_client: Redis) -> None:
    leases = Leases(redis_client, "any")
    pool = leases.share("tenant", Gate("tenant", 1, 1), 1e12)
    assert pool.whole == MOST_PLACES
