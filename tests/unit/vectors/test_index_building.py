"""An index that takes longer to build than its publisher waits."""

import os
import select
import subprocess
import sys
import threading
import uuid
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import models

from chassis.errors import DependencyUnavailable
from chassis.vectors import versions
from chassis.vectors.build_graph import build_graph
from chassis.vectors.edge import EdgeStore
from chassis.vectors.port import CollectionSchema, StoredPoint
from chassis.vectors.rules import BUILD_WAIT_S, LINKS, Building
from chassis.vectors.server import STATE, ServerStore
from services.image_search.app import create_app
from services.image_search.settings import ImageSearchSettings
from tests.live import live
from tests.unit.vectors.graph_server import GREY, RED, GraphServer

pytestmark = [
    pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning"),
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning"),
]

SCHEMA = CollectionSchema(dense={"look": 4})
POINT = StoredPoint("00000000-0000-0000-0000-000000000001", {"look": (1.0, 0.0, 0.0, 0.0)}, {})


def test_server_version_is_published_after_its_graph_is_built() -> None:
    server, paused = GraphServer(looks=3), list[float]()
    store = ServerStore(server, pause=paused.append)
    store.create("v1", SCHEMA)
    store.upsert("v1", [POINT])
    assert server.links == {"v1": 0}
    assert server.quantised["look"].scalar.type is models.ScalarType.INT8
    store.publish("images", "v1")
    assert server.links == {"v1": LINKS}
    assert len(paused) == 1 + 3  # one look found no graph
    assert len(store.search("images", "look", (1.0, 0.0, 0.0, 0.0), 1)) == 1
    paused.clear()
    server.looks = 10_000
    store.create("v2", SCHEMA)
    with pytest.raises(DependencyUnavailable, match="still being built"):
        store.publish("images", "v2")
    assert sum(paused) == BUILD_WAIT_S
    assert {info.name: info.aliases for info in store.collections()} == {"v1": ("images",), "v2": ()}
    store.close()


def test_a_large_index_is_built_by_another_process_and_listed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edge keeps the interpreter to itself while it builds: no search would be answered, and no probe."""
    seen: list[object] = []

    def watched(folder: Path, stopping: threading.Event) -> None:
        seen.append([info.points for info in store.collections()])
        with pytest.raises(DependencyUnavailable, match="still being built"):
            store.missing("v1", [POINT.id])
        build_graph(folder, stopping)

    monkeypatch.setattr(versions, "build_graph", watched)
    store = EdgeStore(tmp_path)
    store.create("v1", CollectionSchema(dense={"look": 1024}))
    draw = np.random.default_rng(0)
    for start in range(0, 3000, 500):
        rows = draw.normal(size=(500, 1024)).tolist()
        store.upsert(
            "v1",
            [StoredPoint(str(uuid.UUID(int=start + n)), {"look": row}, {}) for n, row in enumerate(rows)],
        )
    store.publish("images", "v1")
    assert seen == [[3000]]
    assert next((tmp_path / "collections" / "v1").rglob("links*.bin")).stat().st_size > 0
    for _ in range(2):  # Edge writes its settings anew when it first opens one with a graph
        (best,) = store.search("images", "look", rows[7], 1)
        assert best.score == pytest.approx(1.0, abs=1e-5)
        store.close()
        store = EdgeStore(tmp_path)
        assert store.notes() == []
    store.close()


def test_failed_index_build_is_an_error_and_keeps_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(folder: Path, stopping: threading.Event) -> None:
        build_graph(folder / "of-nobody", stopping)

    store = EdgeStore(tmp_path)
    store.create("v1", SCHEMA)
    store.upsert("v1", [POINT])
    with monkeypatch.context() as patched:
        patched.setattr(versions, "build_graph", fails)
        with pytest.raises(DependencyUnavailable, match="could not be built"):
            store.build("v1")
    assert store.missing("v1", [POINT.id]) == []
    store.publish("images", "v1")
    store.close()


def test_previous_version_is_served_during_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, going_on = threading.Event(), threading.Event()

    def waits(folder: Path, stopping: threading.Event) -> None:
        begun.set()
        going_on.wait()

    with closing(EdgeStore(tmp_path)) as patient:
        for name in ("v1", "v2"):
            patient.create(name, SCHEMA)
            patient.upsert(name, [POINT])
            patient.publish("images", name)
        patient.publish("images-previous", "v1")
    store = EdgeStore(tmp_path, building=Building(wait_s=0.0))
    store.create("v3", SCHEMA)
    monkeypatch.setattr(versions, "build_graph", waits)
    assert not store.build("v3")
    begun.wait()
    assert {info.name: info.points for info in store.collections()} == {"v1": 1, "v2": 1, "v3": 0}
    for change in (store.drop, partial(store.publish, "images")):
        with pytest.raises(DependencyUnavailable, match="still being built"):
            change("v3")
    assert [info.aliases for info in store.collections()] == [("images-previous",), ("images",), ()]
    store.publish("images", "v1")
    assert len(store.search("images", "look", (1.0, 0.0, 0.0, 0.0), 1)) == 1
    going_on.set()
    store.close()
    with closing(EdgeStore(tmp_path)) as patient:
        patient.publish("images", "v3")


BUILDS = """
import sys, threading
from pathlib import Path
from chassis.vectors.build_graph import build_graph
build_graph(Path(sys.argv[2]), threading.Event(), sys.argv[1])
"""
HELD = """
import sys, time
from pathlib import Path
from chassis.vectors.build_graph import end_with_parent
end_with_parent(int(sys.argv[2]))
Path(sys.argv[1]).write_text("")
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system's own signal, Linux")
def test_build_process_ends_with_the_service(tmp_path: Path) -> None:
    """Who comes after the service finds the shard free."""
    script, marker = tmp_path / "held.py", tmp_path / "marker"
    script.write_text(HELD)
    os.mkfifo(marker)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", BUILDS, str(script), str(marker)]
    with subprocess.Popen(command, env=environment) as service:
        marker.read_text()
        [child] = map(int, Path(f"/proc/{service.pid}/task/{service.pid}/children").read_text().split())
        watched = os.pidfd_open(child)
        service.kill()
    ended, _, _ = select.select([watched], [], [], 30)
    os.close(watched)
    assert ended


def test_restarted_server_continues_and_a_failed_one_reports() -> None:
    server = GraphServer(looks=3)
    store = ServerStore(server, pause=lambda _: None)
    store.create("v1", SCHEMA)
    assert not store.build("v1")
    server.stall(GREY)
    store.publish("images", "v1")
    store.create("v2", SCHEMA)
    server.looks = 1
    server.stall(RED)
    store.build("v2")
    with pytest.raises(DependencyUnavailable, match="restart it"):
        store.build("v2")
    store.publish("images", "v1")  # what readers have seen waits for nothing
    store.close()


def test_incomplete_copy_is_not_a_version_and_can_be_awaited() -> None:
    going_on, copied = threading.Event(), list[int]()

    class Slow(GraphServer):
        def upsert(self, collection_name: str, points: Any, **options: Any) -> Any:
            if collection_name == "v2":
                copied.append(len(points))
                going_on.wait()
            return super().upsert(collection_name, points, **options)

    copying = Building(wait_s=0.0)
    store = ServerStore(Slow(), copying=copying)
    store.create("v1", SCHEMA)
    store.upsert("v1", [POINT])
    for _ in range(2):
        with pytest.raises(DependencyUnavailable, match="copy in the making"):
            store.create("v2", SCHEMA, base="v1")
    assert [info.name for info in store.collections()] == ["v1"]
    going_on.set()
    copying.close()
    assert {info.name: info.points for info in store.collections()} == {"v1": 1, "v2": 1}
    assert copied == [1]
    store.close()


@pytest.mark.parametrize("growing", [True, False])
def test_incomplete_copy_is_recreated_unless_another_process_continues(growing: bool) -> None:
    server, looks = GraphServer(), list[float]()

    def pause(seconds: float) -> None:
        looks.append(seconds)
        if growing:
            server.upsert("v2", [models.PointStruct(id=7, vector={"look": [1.0, 0.0, 0.0, 0.0]})])

    store = ServerStore(server, pause=pause)
    store.create("v1", SCHEMA)
    store.upsert("v1", [POINT])
    store.create("v2", SCHEMA)
    server.update_collection("v2", metadata={STATE: "building"})
    if growing:
        with pytest.raises(DependencyUnavailable, match="copy in the making"):
            store.create("v2", SCHEMA, base="v1")
    else:
        store.create("v2", SCHEMA, base="v1")
        assert store.missing("v2", [POINT.id]) == []
    assert looks
    store.close()


@pytest.mark.parametrize("sample", [0, 5])
async def test_server_version_is_built_over_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: int
) -> None:
    settings = ImageSearchSettings(port=0, data_dir=tmp_path, qdrant_url="http://qdrant.example")
    monkeypatch.setattr(ServerStore, "at", lambda _: ServerStore(GraphServer(looks=0)))
    async with live(create_app(settings)) as client:
        await client.post("/v1/collections", json={"name": "v1"})
        for ready in (False, True):
            reply = await client.post("/v1/collections/v1/build", json={"sample": sample})
            assert reply.status_code == 200, reply.text
            assert (reply.json()["ready"], reply.json()["recall"]) == (ready, 1.0)
