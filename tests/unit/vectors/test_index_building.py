"""An index that takes longer to build than its publisher waits."""

import threading
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from chassis.errors import DependencyUnavailable
from chassis.vectors import edge as edge_module
from chassis.vectors.build_graph import NotBuilt, build_graph
from chassis.vectors.building import Building
from chassis.vectors.dense_index import BUILD_WAIT_S, DenseIndex
from chassis.vectors.edge import EdgeStore
from chassis.vectors.port import CollectionSchema, StoredPoint
from chassis.vectors.server import ServerStore

pytestmark = pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning")

SCHEMA = CollectionSchema(dense={"look": 4})
POINT = StoredPoint("00000000-0000-0000-0000-000000000001", {"look": (1.0, 0.0, 0.0, 0.0)}, {})


def test_who_asks_for_what_is_under_way_does_not_start_it_again() -> None:
    building, going_on, begun = Building(wait_s=0.0), threading.Event(), []

    def work() -> None:
        begun.append(1)
        going_on.wait()

    for _ in range(3):
        assert not building.wait_for("v1", work)
    going_on.set()
    building.close()
    assert begun == [1]


def test_what_went_wrong_while_building_is_told_and_can_be_tried_again() -> None:
    building, outcomes = Building(), iter([OSError("no disk"), None])

    def work() -> None:
        if (error := next(outcomes)) is not None:
            raise error

    with pytest.raises(OSError, match="no disk"):
        building.wait_for("v1", work)
    assert building.wait_for("v1", work)
    building.close()


def test_readers_see_the_version_before_until_the_index_is_built(tmp_path: Path) -> None:
    going_on = threading.Event()
    building = Building(wait_s=0.0)
    store = EdgeStore(tmp_path, building=building)
    store.create("v1", SCHEMA)
    store.upsert("v1", [POINT])
    assert not building.wait_for("another", lambda: going_on.wait() and None)  # the one thread is busy
    with pytest.raises(DependencyUnavailable):
        store.publish("images", "v1")
    assert [info.aliases for info in store.collections()] == [()]
    going_on.set()
    store.close()
    with_patience = EdgeStore(tmp_path)
    with_patience.publish("images", "v1")
    assert len(with_patience.search("images", "look", (1.0, 0.0, 0.0, 0.0), 1)) == 1
    with_patience.close()


class BusyServer(QdrantClient):
    """Qdrant's own local mode, telling of a graph that it has not and that takes `looks` looks to build."""

    def __init__(self, looks: int) -> None:
        super().__init__(":memory:")
        self.looks, self.links = looks, 16
        self.quantised: dict[str, Any] = {}

    def create_collection(self, collection_name: str, **made: Any) -> bool:  # type: ignore[override]
        self.links = made["hnsw_config"].m
        self.quantised = {name: each.quantization_config for name, each in made["vectors_config"].items()}
        return super().create_collection(collection_name, **made)

    def update_collection(self, collection_name: str, **changed: Any) -> bool:  # type: ignore[override]
        if "hnsw_config" in changed:
            self.links = changed.pop("hnsw_config").m
        return super().update_collection(collection_name, **changed) if changed else True

    def get_collection(self, collection_name: str, **kwargs: Any) -> models.CollectionInfo:
        info = super().get_collection(collection_name, **kwargs)
        info.config.hnsw_config.m = self.links
        if self.links and self.looks:
            self.looks -= 1
            info.status = models.CollectionStatus.YELLOW
        return info


def test_a_servers_version_is_filled_without_a_graph_and_published_with_one() -> None:
    server, paused = BusyServer(looks=3), list[float]()
    store = ServerStore(server, pause=paused.append)
    store.create("v1", SCHEMA)
    store.upsert("v1", [POINT])
    assert server.links == 0
    assert server.quantised["look"].scalar.type is models.ScalarType.INT8
    store.publish("images", "v1")
    assert server.links == DenseIndex().links
    assert len(paused) == 1 + 3  # one look found no graph
    assert len(store.search("images", "look", (1.0, 0.0, 0.0, 0.0), 1)) == 1
    store.close()


def test_an_alias_stays_where_it_is_while_a_server_takes_too_long() -> None:
    server, paused = BusyServer(looks=10_000), list[float]()
    store = ServerStore(server, pause=paused.append)
    store.create("v1", SCHEMA)
    with pytest.raises(DependencyUnavailable, match="still being built"):
        store.publish("images", "v1")
    assert sum(paused) == BUILD_WAIT_S
    assert [info.aliases for info in store.collections()] == [()]
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

    monkeypatch.setattr(edge_module, "build_graph", watched)
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
    (best,) = store.search("images", "look", rows[7], 1)
    assert best.score == pytest.approx(1.0, abs=1e-5)
    store.close()


def test_an_index_that_cannot_be_built_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    store.create("v1", SCHEMA)
    store.upsert("v1", [POINT])
    store.close()
    shard = tmp_path / "collections" / "v1" / "shard"
    with pytest.raises(NotBuilt):
        build_graph(shard / "of-nobody", threading.Event())
    reopened = EdgeStore(tmp_path)
    assert reopened.missing("v1", [POINT.id]) == []
    reopened.close()
