"""The embedded store: indexing that is killed, broken files and a full disk. The rest goes on."""

import os
import shutil
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from chassis.errors import CollectionNotFound, DependencyUnavailable, StorageFull
from chassis.resilience.room import MIB, Room
from chassis.vectors.edge import EdgeStore
from chassis.vectors.folders import allocated, copy_folder
from chassis.vectors.port import CollectionSchema, SparseVector, StoredPoint
from chassis.vectors.versions import Versions
from tests.virtual_time import ManualClock

SCHEMA = CollectionSchema(sparse=("terms",), keywords=("url",))
EVERY = SparseVector((1000,), (1.0,))


def points(first: int, last: int) -> list[StoredPoint]:
    return [
        StoredPoint(
            str(uuid.UUID(int=number)), {"terms": SparseVector((number, 1000), (1.0, 1.0))}, {"url": "u" * 50}
        )
        for number in range(first, last)
    ]


@contextmanager
def opened(folder: Path, room: Room | None = None) -> Iterator[EdgeStore]:
    store = EdgeStore(folder, room)
    try:
        yield store
    finally:
        store.close()


def count_points(store: EdgeStore, alias: str = "pages") -> int:
    return len(store.search(alias, "terms", EVERY, 500))


def test_store_is_locked_and_incomplete_copies_are_removed(
    tmp_path: Path,
) -> None:
    (tmp_path / "collections" / ".building-1234" / "shard").mkdir(parents=True)
    with opened(tmp_path) as store:
        assert store.collections() == []
        assert list((tmp_path / "collections").iterdir()) == []
        with pytest.raises(DependencyUnavailable):
            EdgeStore(tmp_path)
    EdgeStore(tmp_path).close()


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def bytes_read() -> int:
    """Return how many bytes this process has read so far, including holes of sparse files."""
    return int(Path("/proc/self/io").read_text().split()[1])


def test_copy_skips_holes_of_sparse_files(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    with open(tmp_path / "source" / "file", "wb") as file:
        file.write(b"a")
        file.seek(2**27)
        file.write(b"b")
        file.truncate(2**28)
    before = bytes_read()
    copy_folder(tmp_path / "source", tmp_path / "copy")
    assert bytes_read() - before < 2**22
    assert allocated(tmp_path / "copy") < 2**22
    with open(tmp_path / "copy" / "file", "rb") as copied:
        assert copied.read(2) == b"a\0"
        copied.seek(2**27 - 1)
        assert copied.read(3) == b"\0b\0"
        assert copied.seek(0, os.SEEK_END) == 2**28
    (tmp_path / "copy" / "gone").symlink_to(tmp_path / "nowhere")
    assert 0 < allocated(tmp_path / "copy") < 2**22


def test_searches_continue_while_versions_change(tmp_path: Path) -> None:
    done = threading.Event()

    def search_until_done(store: EdgeStore) -> set[int]:
        counts = set[int]()
        while not done.wait(0.002):
            counts.add(count_points(store))
        return counts

    with opened(tmp_path) as store, ThreadPoolExecutor(2) as readers:
        store.create("v0", SCHEMA)
        store.upsert("v0", points(0, 1))
        store.publish("pages", "v0")
        reading = [readers.submit(search_until_done, store) for _ in range(2)]
        try:
            for version in range(1, 4):
                store.create(f"v{version}", SCHEMA, base="pages")
                store.upsert(f"v{version}", points(version, version + 1))
                store.publish("pages", f"v{version}")
                store.drop(f"v{version - 1}")
        finally:
            done.set()
        assert set[int]().union(*(each.result() for each in reading)) <= {1, 2, 3, 4}
        assert [info.points for info in store.collections()] == [4]


def test_published_versions_survive_killed_indexing() -> None:
    """A process of its own: it forks. The long form: `python -m tests.unit.vectors.killing`."""
    ran = run_python("-m", "tests.unit.vectors.killing", "41", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "stopped, whole" in ran.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Published: `v2` with 30 points; before it `v1` with 20; `v3`, half filled, with 40."""
    folder = tmp_path_factory.mktemp("store") / "built"
    with opened(folder) as store:
        store.create("v1", SCHEMA)
        store.upsert("v1", points(0, 20))
        store.publish("pages", "v1")
        store.create("v2", SCHEMA, base="pages")
        store.upsert("v2", points(20, 30))
        store.publish("pages-previous", "v1")
        store.publish("pages", "v2")
        store.create("v3", SCHEMA, base="pages")
        store.upsert("v3", points(30, 40))
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    """A copy of what was built, without syncing."""
    subprocess.run(["cp", "-a", "--sparse=always", built, tmp_path / "store"], check=True)
    return tmp_path / "store"


def shard_file(folder: Path, version: str, name: str) -> Path:
    return next((folder / "collections" / version).rglob(name))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("name", ["segment.json", "status.dat", "schema.json", "first-index"])
def test_damaged_published_version_is_reported_with_advice(folder: Path, name: str) -> None:
    cut(shard_file(folder, "v2", name))
    with opened(folder) as store:
        with pytest.raises(DependencyUnavailable, match="'v2' cannot be opened") as raised:
            count_points(store)
        assert "loreglass index rollback" in raised.value.detail
        assert store.notes() == [raised.value.detail]
        held = {info.name: (info.points, bool(info.fault)) for info in store.collections()}
        assert held == {"v1": (20, False), "v2": (0, True), "v3": (40, False)}


def test_damaged_version_can_be_rolled_back(folder: Path) -> None:
    cut(shard_file(folder, "v2", "segment.json"))
    cut(shard_file(folder, "v3", "segment.json"))  # never opened
    for _ in range(2):  # also after a restart
        with opened(folder) as store:
            store.publish("pages", "v1")
            store.publish("pages-previous", "v2")
            assert count_points(store) == 20
            assert store.notes() == []
            with pytest.raises(DependencyUnavailable):
                store.publish("pages", "v2")
    with opened(folder) as store:
        store.drop("v3")
    shutil.rmtree(folder / "collections" / "v1")
    with opened(folder) as store:
        with pytest.raises(CollectionNotFound):
            count_points(store)
        assert "'v1' is gone" in store.notes()[0]


def test_damaged_version_is_recreated_under_its_name(folder: Path) -> None:
    cut(shard_file(folder, "v2", "segment.json"))
    with opened(folder) as store:
        with pytest.raises(DependencyUnavailable):
            store.create("v4", SCHEMA, base="pages")
        store.create("v2", SCHEMA)
        with pytest.raises(CollectionNotFound):
            count_points(store)
        store.upsert("v2", points(0, 3))
        store.publish("pages", "v2")
        assert count_points(store) == 3


def test_version_that_failed_to_open_is_retried(folder: Path) -> None:
    path = shard_file(folder, "v2", "segment.json")
    whole, clock = path.read_bytes(), ManualClock()
    versions = Versions(folder / "collections", lambda _: True, clock)
    cut(path)
    with pytest.raises(DependencyUnavailable):
        versions.get("v2")
    path.write_bytes(whole)
    with pytest.raises(DependencyUnavailable):
        versions.get("v2")
    clock.now += 61
    assert versions.get("v2").points() == 30
    assert versions.fault("v2") == ""
    versions.close()


@pytest.mark.parametrize("broken", [b"", b"{", b'{"pages": 3}', b'["v1"]', b'{"pages": "../v1"}'])
def test_unreadable_aliases_stop_the_start_with_a_message(folder: Path, broken: bytes) -> None:
    path = folder / "aliases.json"
    content = path.read_bytes()
    path.write_bytes(broken)
    with pytest.raises(DependencyUnavailable, match="Restore it from a backup"):
        EdgeStore(folder)
    path.write_bytes(content)
    with opened(folder) as store:
        assert count_points(store) == 30


WRITES: dict[str, Callable[[EdgeStore], None]] = {
    "create": lambda store: store.create("v4", SCHEMA),
    "copy": lambda store: store.create("v4", SCHEMA, base="pages"),
    "upsert": lambda store: store.upsert("v3", points(40, 50)),
    "publish": lambda store: store.publish("pages", "v3"),
}


@pytest.mark.parametrize("write", WRITES)
def test_low_disk_space_refuses_writes_and_keeps_searches(folder: Path, write: str) -> None:
    with opened(folder, Room(folder, 256 * MIB, lambda _: 100 * MIB)) as store:
        with pytest.raises(StorageFull, match="make room, then go on"):
            WRITES[write](store)
        assert count_points(store) == 30
        assert any("nothing is indexed with less" in note for note in store.notes())
        assert [info.name for info in store.collections()] == ["v1", "v2", "v3"]
    with opened(folder) as store:
        WRITES[write](store)


FILL = """
import sys, uuid
from pathlib import Path
from chassis.errors import StorageFull
from chassis.resilience.room import MIB, Room
from chassis.vectors.edge import EdgeStore
from tests.unit.vectors.test_edge_store import SCHEMA, count_points, points
store = EdgeStore(Path(sys.argv[1]), Room(Path(sys.argv[1]), 8 * MIB))
store.create("v1", SCHEMA)
store.upsert("v1", points(0, 50))
store.publish("pages", "v1")
store.create("v2", SCHEMA, base="pages")
try:
    for first in range(50, 200_000, 500):
        store.upsert("v2", points(first, first + 500))
except StorageFull as error:
    print(error.detail, count_points(store))
store.close()
"""


def test_indexing_on_a_full_disk_ends_with_a_message(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("a file system cannot be mounted here")
    try:
        filled = run_python("-c", FILL, str(disk))
        assert filled.returncode == 0, (filled.returncode, filled.stderr)
        assert "make room" in filled.stdout
        assert filled.stdout.split()[-1] == "50"
        with opened(disk) as store:
            assert count_points(store) == 50
    finally:
        subprocess.run(["umount", disk], check=True)
