"""Services that run: metrics, readiness, and stores that break."""

from pathlib import Path

import httpx
import pytest

from chassis.errors import DependencyUnavailable
from chassis.resilience import room
from chassis.telemetry.metrics import Metrics
from chassis.vectors.edge import EdgeStore
from chassis.vectors.port import CollectionInfo
from chassis.vectors.routes import watch_published
from deploy.inventory import APPS, App
from services.text_search.app import create_app as create_text_search
from services.text_search.settings import TextSearchSettings
from tests.live import live
from tests.unit.services.text_search_calls import chunk, publish


async def series(client: httpx.AsyncClient, name: str) -> list[str]:
    """The samples of one metric, as they are scraped."""
    return [line for line in (await client.get("/metrics")).text.splitlines() if line.startswith(name + "{")]


async def test_metrics_count_published_passages(tmp_path: Path) -> None:
    settings = TextSearchSettings(port=0, data_dir=tmp_path)
    shown = []
    async with live(create_text_search(settings)) as client:
        for version, texts in (("pages-1", ["one", "two"]), ("pages-2", ["three"])):
            shown += await series(client, "loreglass_collection_points")
            await publish(client, version, [chunk(text) for text in texts])
        shown += await series(client, "loreglass_collection_points")
        written = await series(client, "loreglass_ingested_total")
    labels = '{alias="pages",service="text_search"}'
    assert shown == [f"loreglass_collection_points{labels} {points}" for points in ("2.0", "1.0")]
    assert written == ['loreglass_ingested_total{kind="passages",service="text_search"} 3.0']


def test_unavailable_store_leaves_a_gap_in_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: EdgeStore) -> list[CollectionInfo]:
        raise DependencyUnavailable("The store cannot be reached.")

    metrics, store = Metrics("probe"), EdgeStore(tmp_path)
    watch_published(metrics, store)
    monkeypatch.setattr(EdgeStore, "collections", away)
    assert b"loreglass_collection_points{" not in metrics.exposition()[0]
    store.close()


SERVICES = [app for app in APPS if app.module.startswith("services.")]


@pytest.mark.parametrize("app", SERVICES, ids=lambda app: str(app.name))
async def test_readiness_runs_the_engine(app: App, tmp_path: Path) -> None:
    own = {"data_dir": tmp_path} if app.keeps_data else {}
    async with live(app.create(app.settings(port=0, **own))) as client:
        ready = await client.get("/health/ready")
    assert ready.json() == {"status": "ok", "checks": {"engine": "ok"}}


async def test_full_disk_is_a_507_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with live(create_text_search(TextSearchSettings(port=0, data_dir=tmp_path))) as client:
        await client.post("/v1/collections", json={"name": "pages-1"})
        monkeypatch.setattr(room.Room, "free", lambda _: 5 * room.MIB)
        refused = await client.put("/v1/collections/pages-1/chunks", json={"chunks": [chunk("harbour")]})
        ready = await client.get("/health/ready")
    assert (refused.status_code, ready.status_code) == (507, 200)
    assert refused.json()["type"] == "urn:loreglass:problem:storage_full"
    assert "make room" in refused.json()["detail"]
