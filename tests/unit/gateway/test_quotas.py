"""A tenant may ask so much, and is told when it may ask again; others do not notice."""

import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from chassis.errors import QuotaExceeded
from chassis.keys import ApiKey
from chassis.startup import WrongSettings
from clients.keys import entry
from contracts.headers import IDEMPOTENCY_KEY
from gateway.planning.prefetch import side_by_side
from gateway.serving.admission import Exceeded, Quotas, Rates
from gateway.serving.redis_store import connect
from gateway.serving.tenants import Keys, Quota
from tests.live import closed_port
from tests.unit.gateway.fakes import FakeServices, Mood
from tests.unit.gateway.platform import PHOTO, QUESTION, bearer, gateway_before
from tests.unit.gateway.sessions.harness import ManualClock

ACME, BOLT = ApiKey.new(), ApiKey.new()


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """Two tenants; one has a quota of its own."""
    path = tmp_path / "keys.toml"
    own = '\n[[tenant]]\nname = "acme"\nrequests_per_minute = 3\nin_flight = 2\n'
    path.write_text("\n".join((entry(ACME, "acme", "interactive"), entry(BOLT, "bolt", "interactive"), own)))
    return path


class WallClock(ManualClock):
    """Replaces the module `time` in the memory storage of `limits`."""

    time = ManualClock.__call__


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> WallClock:
    """At the beginning of a minute; memory storage counts by the minutes of the wall clock."""
    made = WallClock()
    made.now = 6_000.0
    monkeypatch.setattr("limits.aio.storage.memory.time", made)
    return made


async def take(rates: Rates, per_minute: float) -> float:
    return await rates.take("acme", per_minute)


async def test_rate_limit_uses_a_sliding_minute(clock: WallClock) -> None:
    rates = Rates()
    assert [await take(rates, 6) for _ in range(7)] == pytest.approx([0.0] * 6 + [60.0])
    assert await rates.take("bolt", 6) == 0
    clock.now += 69.0
    assert [await take(rates, 6) for _ in range(2)] == pytest.approx([0.0, 1.0])
    clock.now += 1e6
    assert [await take(rates, 6) for _ in range(7)][:6] == [0.0] * 6


async def test_concurrent_gateways_share_one_rate_limit(redis_client: Redis) -> None:
    namespace, let_in = uuid.uuid4().hex, list[float]()
    gateways = [Rates(redis_client, namespace=namespace) for _ in range(3)]

    async def ask(rates: Rates) -> None:
        let_in.append(await take(rates, 50))

    async with anyio.create_task_group() as group:
        for number in range(90):
            group.start_soon(ask, gateways[number % 3])
    assert sum(wait == 0 for wait in let_in) == 50
    assert all(59 < wait <= 60 for wait in let_in if wait)  # the first is forgotten as the next minute begins
    [key] = await redis_client.keys(f"{namespace}:*")
    assert 60_000 < await redis_client.pttl(key) <= 120_000


async def test_previous_minute_counts_in_proportion(redis_client: Redis) -> None:
    rates = Rates(redis_client, namespace=(namespace := uuid.uuid4().hex))
    for _ in range(4):
        assert await take(rates, 4) == 0
    [key] = await redis_client.keys(f"{namespace}:*")
    await redis_client.pexpire(key, 44_000)  # as it is 16 s into the next minute: two of the four count
    assert [await take(rates, 4) for _ in range(2)] == [0.0, 0.0]
    assert 8 < await take(rates, 4) <= 14  # then one of them


@pytest.mark.parametrize("garbage", ["none of ours", "list", "-1e300", "9" * 13])
async def test_an_invalid_count_in_redis_affects_no_other_tenant(redis_client: Redis, garbage: str) -> None:
    namespace = uuid.uuid4().hex
    one, other = (Rates(redis_client, gateways=2, namespace=namespace) for _ in range(2))
    await take(one, 4)
    [key] = await redis_client.keys(f"{namespace}:*")
    await redis_client.delete(key)
    await (redis_client.rpush(key, "x") if garbage == "list" else redis_client.set(key, garbage))
    assert await take(one, 4) == 0
    for tenant in ("bolt", "acme"):  # both gateways count together
        waits = [await rates.take(tenant, 4) > 0 for rates in (one, one, one, one, other)]
        assert waits == [False, False, False, False, True]


async def test_a_full_redis_keeps_the_counts(redis_client: Redis) -> None:
    rates = Rates(redis_client, namespace=(namespace := uuid.uuid4().hex), clock=(clock := ManualClock()))
    assert await take(rates, 4) == 0
    await redis_client.config_set("maxmemory", 1)
    try:
        with capture_logs() as logs:
            await take(rates, 4)
    finally:
        await redis_client.config_set("maxmemory", 0)
    assert [line["event"] for line in logs] == ["rates_not_shared"]
    assert len(await redis_client.keys(f"{namespace}:*")) == 1
    clock.now += 60.0
    assert [await take(rates, 2) > 0 for _ in range(2)] == [False, True]


async def test_without_redis_each_gateway_counts_its_part() -> None:
    async with aclosing(connect(closed_port().replace("http", "redis"))) as client:
        rates = Rates(client, gateways=3, clock=ManualClock())
        with capture_logs() as logs:
            assert [await take(rates, 6) for _ in range(3)] == pytest.approx([0.0, 0.0, 60.0])
        assert [line["event"] for line in logs] == [
            "rates_not_shared"
        ]  # then Redis is left alone for a while
        assert [await rates.take("bolt", 2) for _ in range(2)] == pytest.approx([0.0, 60.0])  # at least one


async def test_finished_request_frees_its_place() -> None:
    reports: list[Exceeded] = []
    quotas = Quotas(lambda _: Quota(in_flight=1), on_exceeded=reports.append)
    leave = await quotas.enter("acme")
    await quotas.enter("bolt")
    with pytest.raises(QuotaExceeded):
        await quotas.enter("acme")
    leave()
    await quotas.enter("acme")
    assert reports == [Exceeded.IN_FLIGHT]


async def test_tenant_over_its_rate_gets_429(services: FakeServices, keys: Path) -> None:
    async with gateway_before(services, keys=keys) as world:

        async def ask(key: ApiKey, path: str = "/answer", **body: object) -> int:
            replies.append(await world.client.post(path, json=body, headers=bearer(key)))
            return replies[-1].status_code

        replies: list = []
        chat = {"model": "loreglass", "messages": [{"role": "user", "content": QUESTION}]}
        assert [await ask(ACME, question=QUESTION) for _ in range(4)] == [200, 200, 200, 429]
        assert replies[-1].json()["type"] == "urn:loreglass:problem:quota_exceeded"
        assert 1 <= int(replies[-1].headers["retry-after"]) <= 60
        assert await ask(ACME, "/v1/chat/completions", **chat) == 429
        assert replies[-1].json()["error"]["type"] == "rate_limit_error"
        assert await ask(BOLT, question=QUESTION) == 200
        metrics = (await world.client.get("/metrics")).text
        assert 'loreglass_quota_exceeded_total{quota="rate"} 2.0' in metrics


@pytest.mark.parametrize("door", ["under a key", "by a device"])
async def test_work_that_goes_on_without_its_caller_counts_until_it_has_ended(
    services: FakeServices, keys: Path, door: str
) -> None:
    services.text_search.mood = Mood.HELD
    async with gateway_before(services, keys=keys) as world:

        async def ask(name: str) -> int:
            form = {"files": {"photo" if device else "image": PHOTO}, "headers": bearer(ACME)}
            if device:
                form["data"] = {"requestId": name}
            else:
                form |= {"data": {"question": QUESTION}, "headers": bearer(ACME) | {IDEMPOTENCY_KEY: name}}
            path = "/devices/photo-question" if device else "/answer"
            return (await world.client.post(path, **form)).status_code

        device = door == "by a device"
        for number in (1, 2):
            async with side_by_side() as group:
                group.start_soon(ask, str(number))
                with anyio.fail_after(60):
                    while len(services.text_search.calls) < number:
                        await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
        await world.quiet()
        assert await ask("3") == 429
        services.text_search.release.set()
        with anyio.fail_after(60):
            while await ask("1") == 429:
                pass


def test_tenant_quota_overrides_the_default(keys: Path) -> None:
    read = Keys(keys, quota=Quota(sessions=7))
    assert read.quota("acme") == Quota(requests_per_minute=3, in_flight=2, sessions=7)
    assert read.quota("bolt") == Quota(sessions=7)
    assert Keys(None, quota=Quota(sessions=7)).quota("public") == Quota()  # nobody to protect


@pytest.mark.parametrize("line", ["in_flight = 0", 'in_flight = "2"', "requests = 3"])
def test_invalid_quota_is_refused(keys: Path, line: str) -> None:
    keys.write_text(f'[[tenant]]\nname = "acme"\n{line}\n')
    with pytest.raises(WrongSettings, match="tenant"):
        Keys(keys)


async def test_uploads_of_a_tenant_have_a_share_of_the_room(services: FakeServices, keys: Path) -> None:
    room = {"max_body_bytes": 2**20, "max_upload_bytes": 4 * 2**20, "tenant_upload_share": 0.25}
    async with gateway_before(services, keys=keys, **room) as world:
        replies = []

        async def upload(key: ApiKey) -> None:
            whole = 2**20 - 5_000

            async def body() -> AsyncIterator[bytes]:
                yield b"x" * 1_000
                if len(replies) < 1:
                    await arrived.wait()
                yield b"x" * (whole - 1_000)

            headers = bearer(key) | {"Content-Length": str(whole), "Content-Type": "application/json"}
            replies.append(await world.client.post("/answer", content=body(), headers=headers))

        arrived = anyio.Event()
        async with side_by_side() as group:
            group.start_soon(upload, ACME)
            await anyio.wait_all_tasks_blocked()
            refused = await world.client.post("/answer", content=b"x" * 20_000, headers=bearer(ACME))
            other = await world.client.post("/answer", content=b"x" * 20_000, headers=bearer(BOLT))
            arrived.set()
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert other.status_code != 503
    assert replies[0].status_code != 503


async def test_metrics_name_tenants_to_an_operator_only(services: FakeServices, tmp_path: Path) -> None:
    keys, chief = tmp_path / "keys.toml", ApiKey.new()
    entries = (entry(ACME, "acme", "interactive"), entry(chief, "chief", "interactive", operator=True))
    keys.write_text("\n".join(entries))
    async with gateway_before(services, keys=keys) as world:
        await world.client.post("/answer", json={"question": QUESTION}, headers=bearer(ACME))
        texts = [
            (await world.client.get("/metrics", headers=headers)).text
            for headers in ({}, bearer(ACME), bearer(chief), {"Authorization": "Bearer x"})
        ]
    assert ["acme" in text for text in texts] == [False, False, True, False]
    assert all("loreglass_questions_total" in text for text in texts)
