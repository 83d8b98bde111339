"""What Prometheus is given, in both of its formats."""

from collections.abc import AsyncIterator
from threading import Event

import anyio
import httpx
import pytest
from fastapi import APIRouter
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as plain_families
from prometheus_client.samples import Sample

from chassis.errors import Overloaded
from chassis.http.app import RequestDeadline, ServiceSpec, create_service
from chassis.models.workers import EnginePool, PoolSize
from chassis.resilience.deadlines import Deadline
from chassis.settings import ServiceSettings
from chassis.telemetry.metrics import Metrics
from contracts import headers
from contracts.operations import Health
from tests.live import live
from tests.unit.chassis.apps import until

TRACE = "0af7651916cd43dd8448eb211c80319c"
OPENMETRICS = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3"


def value(text: str, name: str, **labels: str) -> float | None:
    """Of the series with these labels, among others; None where there is none."""
    for family in plain_families(text):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    return None


@pytest.fixture
async def service() -> AsyncIterator[httpx.AsyncClient]:
    router = APIRouter()

    @router.get("/work")
    async def work() -> Health:
        return Health(status="ok")

    @router.get("/hang")
    async def hang() -> Health:
        await anyio.sleep_forever()
        return Health(status="ok")

    @router.get("/late")
    async def late(deadline: RequestDeadline) -> Health:
        Deadline.after_ms(0).require()
        return Health(status="ok")

    spec = ServiceSpec("probe", [router], lambda _: None, lambda _: None)
    async with live(create_service(spec, ServiceSettings())) as client:
        yield client


@pytest.mark.parametrize("accept", ["", "*/*", "text/plain", "application/openmetrics-text;q=0", "\xff;;,=,"])
async def test_plain_format_is_the_default(service: httpx.AsyncClient, accept: str) -> None:
    await service.get("/work")
    reply = await service.get("/metrics", headers=[(b"Accept", accept.encode("latin-1"))])
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "# EOF" not in reply.text
    assert "trace_id" not in reply.text
    assert list(plain_families(reply.text))


@pytest.mark.parametrize("accept", ["application/openmetrics-text; version=99;\r\nx", OPENMETRICS.upper()])
def test_media_type_does_not_depend_on_the_accept_header(accept: str) -> None:
    _, media_type = Metrics("probe").exposition(accept)
    assert media_type == "application/openmetrics-text; version=1.0.0; charset=utf-8"


async def test_openmetrics_has_trace_exemplars(service: httpx.AsyncClient) -> None:
    await service.get("/work", headers={headers.TRACE: TRACE})
    reply = await service.get("/metrics", headers={"Accept": OPENMETRICS})
    assert reply.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    families = openmetrics_families(reply.text)  # type: ignore[no-untyped-call]
    samples: list[Sample] = [sample for family in families for sample in family.samples]
    of_work = [each.exemplar for each in samples if each.exemplar and each.labels.get("route") == "/work"]
    assert [exemplar.labels for exemplar in of_work] == [{"trace_id": TRACE}]


async def test_metrics_have_build_process_and_missed_deadlines(
    service: httpx.AsyncClient,
) -> None:
    await service.get("/hang", headers={headers.DEADLINE: "30"})
    await service.get("/late")
    await service.get("/work", headers={headers.DEADLINE: "0"})
    text = (await service.get("/metrics")).text
    counted = "loreglass_deadline_exceeded_total"
    routes = {route: value(text, counted, route=route) for route in ("/hang", "/late", "unmatched", "/work")}
    assert routes == {"/hang": 1, "/late": 1, "unmatched": 1, "/work": None}
    assert value(text, "loreglass_build_info", service="probe", engine="builtin", device="cpu") == 1
    assert (value(text, "process_resident_memory_bytes") or 0) > 0
    assert value(text, "loreglass_requests_in_flight", service="probe") == 1


def test_unknown_methods_share_one_series() -> None:
    metrics = Metrics("probe")
    for method in ("BREW", "WHEN", "GET"):
        metrics.begin()
        metrics.observe("/coffee", method, 405, 0.1)
    text = metrics.exposition()[0].decode()
    assert value(text, "loreglass_requests_total", method="_OTHER") == 2
    assert value(text, "loreglass_requests_in_flight") == 0
    assert "BREW" not in text


async def test_engine_queue_size_and_age_are_measured() -> None:
    metrics, now, hold, begun = Metrics("probe"), [100.0], Event(), Event()
    pool = EnginePool(None, PoolSize(workers=1, queue=2), "probe", metrics.refused(), lambda: now[0])
    metrics.watch_pool(pool, lambda: pool.running)

    def gauges() -> list[float | None]:
        text = metrics.exposition()[0].decode()
        names = ("waiting", "running", "oldest_wait_seconds", "refused_total")
        return [value(text, f"loreglass_engine_{name}", service="probe") for name in names]

    def work(_: None) -> None:
        begun.set()
        hold.wait(30)

    assert gauges() == [0, 0, 0, 0]
    async with anyio.create_task_group() as group:
        group.start_soon(pool.run, work, Deadline.after_ms(30_000))
        await until(begun.is_set)
        for depth in (2, 3):
            group.start_soon(pool.run, work, Deadline.after_ms(30_000))
            await until(lambda depth=depth: pool.waiting + pool.running == depth)  # type: ignore[misc]
            now[0] += 3.5
        with pytest.raises(Overloaded):
            await pool.run(work, Deadline.after_ms(30_000))
        assert gauges() == [2, 1, 7, 1]
        hold.set()
    await until(lambda: pool.waiting + pool.running == 0)
    assert gauges() == [0, 0, 0, 1]
    pool.close()
