"""The embedded store, and indexing that is killed."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from chassis.errors import DependencyUnavailable
from chassis.vectors.edge import EdgeStore
from chassis.vectors.port import CollectionSchema, SparseVector, StoredPoint

SCHEMA = CollectionSchema(sparse=("terms",), idf=("terms",), keywords=("url",))


def point(number: int) -> StoredPoint:
    identity = f"00000000-0000-0000-0000-{number:012d}"
    return StoredPoint(identity, {"terms": SparseVector((1,), (1.0,))}, {"url": "u"})


def test_a_copy_that_a_crash_cut_short_is_not_a_collection(tmp_path: Path) -> None:
    EdgeStore(tmp_path).close()
    (tmp_path / "collections" / ".building-1234" / "shard").mkdir(parents=True)
    store = EdgeStore(tmp_path)
    assert store.collections() == []
    assert list((tmp_path / "collections").iterdir()) == []
    store.close()


def test_a_second_opener_is_told_that_the_store_is_taken(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    with pytest.raises(DependencyUnavailable):
        EdgeStore(tmp_path)
    store.close()
    EdgeStore(tmp_path).close()


def test_an_idle_copy_takes_little_disk(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    store.create("v1", SCHEMA)
    store.create("v2", SCHEMA, base="v1")
    used = sum(path.stat().st_blocks * 512 for path in (tmp_path / "collections" / "v2").rglob("*"))
    assert used < 32 << 20  # as its size says: some 200 MB
    store.close()


def test_searches_go_on_while_versions_are_written_published_and_dropped(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    store.create("v0", SCHEMA)
    store.upsert("v0", [point(0)])
    store.publish("pages", "v0")
    done = threading.Event()
    failures: list[Exception] = []
    counts: list[int] = []

    def search_until_done() -> None:
        try:
            while not done.wait(0.002):
                counts.append(len(store.search("pages", "terms", SparseVector((1,), (1.0,)), 100)))
        except Exception as error:  # noqa: BLE001 - a thread must hand its failure to the test
            failures.append(error)

    readers = [threading.Thread(target=search_until_done) for _ in range(2)]
    for reader in readers:
        reader.start()
    for version in range(1, 4):
        store.create(f"v{version}", SCHEMA, base="pages")
        store.upsert(f"v{version}", [point(version)])
        store.publish("pages", f"v{version}")
        store.drop(f"v{version - 1}")
    done.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert set(counts) <= set(range(1, 5))
    assert [info.points for info in store.collections()] == [4]
    store.close()


def test_a_collection_of_before_there_were_encoders_can_still_be_read(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path)
    store.create("v1", SCHEMA)
    store.close()
    schema_file = tmp_path / "collections" / "v1" / "schema.json"
    stored = json.loads(schema_file.read_text())
    del stored["encoder"]
    schema_file.write_text(json.dumps(stored))
    reopened = EdgeStore(tmp_path)
    reopened.require("v1", SCHEMA)
    reopened.close()


def test_nothing_published_is_lost_or_half_wherever_an_indexing_is_stopped() -> None:
    """A process of its own: it forks. The long form: `python -m tests.unit.vectors.killing`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "tests.unit.vectors.killing", "--every", "41", "--kills", "1"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "stopped, whole" in ran.stdout
