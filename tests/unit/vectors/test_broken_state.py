"""What the store on disk does with broken files, a full disk and a broken alias file: the rest goes on."""

import errno
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from chassis.errors import CollectionNotFound, LoreglassError, StorageFull
from chassis.resilience.room import MIB, Room
from chassis.vectors import open_versions, seal
from chassis.vectors.edge import EdgeStore
from chassis.vectors.files import allocated
from chassis.vectors.port import CollectionSchema, SparseVector, StoredPoint
from chassis.vectors.try_shard import is_of_the_system

SCHEMA = CollectionSchema(sparse=("terms",), idf=("terms",), keywords=("url",))
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


def found(store: EdgeStore, alias: str = "pages") -> int:
    return len(store.search(alias, "terms", EVERY, 500))


def copy(source: Path, target: Path) -> None:
    """Without syncing."""
    subprocess.run(["cp", "-a", "--sparse=always", source, target], check=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Published: `v2` with 30 points; before it `v1` with 20; `v3`, half filled, with 40."""
    folder = tmp_path_factory.mktemp("built") / "store"
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
    """A copy of what was built."""
    copy(built, tmp_path / "store")
    return tmp_path / "store"


def shard_file(folder: Path, version: str, name: str) -> Path:
    return next((folder / "collections" / version).rglob(name))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip_a_bit(path: Path) -> None:
    with path.open("r+b") as stream:
        first = stream.read(1)
        stream.seek(0)
        stream.write(bytes([first[0] ^ 1]))


@pytest.mark.parametrize("name", ["segment.json", "mutable_id_tracker.versions", "page_0.dat", "schema.json"])
def test_a_broken_old_version_is_set_aside_and_the_rest_starts(folder: Path, name: str) -> None:
    cut(shard_file(folder, "v1", name))
    with opened(folder) as store:
        assert found(store) == 30
        assert [info.name for info in store.collections()] == ["v2", "v3"]
        (note,) = store.notes()
    assert "v1 was found broken" in note
    (place,) = (folder / "set_aside").iterdir()
    assert (place / "v1" / "shard").is_dir()
    assert json.loads((place / "reason.json").read_text())["content"]["name"] == "v1"


def test_a_broken_version_that_was_being_filled_is_set_aside(folder: Path) -> None:
    cut(shard_file(folder, "v3", "segment.json"))
    with opened(folder) as store:
        assert [info.name for info in store.collections()] == ["v1", "v2"]
        assert found(store) == 30


def test_readers_of_a_broken_version_are_led_to_the_one_before_and_it_is_said(folder: Path) -> None:
    cut(shard_file(folder, "v2", "mutable_id_tracker.versions"))
    with opened(folder) as store:
        assert found(store) == 20
        assert any("see the version before it, 'v1'" in note for note in store.notes())
        store.create("v4", SCHEMA, base="pages")
        store.upsert("v4", points(20, 31))
        store.publish("pages", "v4")
        assert found(store) == 31
        assert not any("see the version before" in note for note in store.notes())


def test_with_nothing_whole_to_lead_to_that_is_said_and_a_new_index_can_be_made(folder: Path) -> None:
    for version in ("v1", "v2"):
        cut(shard_file(folder, version, "mutable_id_tracker.versions"))
    with opened(folder) as store:
        with pytest.raises(CollectionNotFound):
            found(store)
        assert any("index again, or restore a backup" in note for note in store.notes())
        store.create("v4", SCHEMA)
        store.upsert("v4", points(0, 3))
        store.publish("pages", "v4")
        assert found(store) == 3


def test_any_file_of_a_published_version_may_be_cut_short(folder: Path, tmp_path: Path) -> None:
    """Readers get all 30 points, or the 20 of the version before and a note: never some of the 30."""
    shard = folder / "collections" / "v2"
    names = [path.relative_to(folder) for path in sorted(shard.rglob("*")) if path.is_file()]
    seen = {}
    for number, name in enumerate(names[::3]):
        broken = tmp_path / f"broken{number}"
        copy(folder, broken)
        shutil.rmtree(broken / "collections" / "v3")
        cut(broken / name)
        with opened(broken) as store:
            seen[str(name)] = (found(store), any("set aside" in note for note in store.notes()))
    assert set(seen.values()) == {(30, False), (20, True)}
    assert all("wal/" in name or "seal" in name or "journal" in name for name in seen if seen[name][0] == 30)


def test_a_flipped_bit_in_a_published_version_is_found(folder: Path) -> None:
    flip_a_bit(shard_file(folder, "v2", "page_0.dat"))
    with opened(folder) as store:
        assert found(store) == 20


def test_a_version_whose_holes_were_filled_by_a_copy_is_whole(folder: Path) -> None:
    path = shard_file(folder, "v2", "flags_a.dat")
    path.write_bytes(path.read_bytes())
    with opened(folder) as store:
        assert found(store) == 30
        assert store.notes() == []


@pytest.mark.parametrize("broken", [b"", b"{", b"{}", b'{"pages": 3}', None])
def test_a_broken_alias_file_gives_way_to_the_one_before(folder: Path, broken: bytes | None) -> None:
    path = folder / "aliases.json"
    if broken is None:
        path.unlink()
    else:
        path.write_bytes(broken)
    with opened(folder) as store:
        assert found(store) == 20
        assert any("aliases of before their last change are used" in note for note in store.notes())
        store.publish("pages", "v2")
        assert found(store) == 30
    with opened(folder) as store:
        assert found(store) == 30


def test_an_alias_file_with_a_wrong_checksum_gives_way_too(folder: Path) -> None:
    path = folder / "aliases.json"
    path.write_text(path.read_text().replace('"v2"', '"v3"'))
    with opened(folder) as store:
        assert found(store) == 20


def test_aliases_of_before_there_were_checksums_are_read(folder: Path) -> None:
    (folder / "aliases.json").write_text(json.dumps({"pages": "v1"}))
    (folder / "aliases.before.json").unlink()
    with opened(folder) as store:
        assert found(store) == 20
        assert store.notes() == []


def test_versions_of_before_there_were_seals_are_opened(folder: Path) -> None:
    for path in folder.rglob("seal.json"):
        path.unlink()
    with opened(folder) as store:
        assert found(store) == 30
        assert len(store.collections()) == 3

    assert {path.parent.name for path in folder.rglob("seal.json")} == {"v1", "v2"}


LIMITED = """
import resource, sys
from pathlib import Path
from chassis.vectors.edge import EdgeStore
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
store = EdgeStore(Path(sys.argv[1]))
print(store.notes(), store.unopened())
"""


def test_where_files_may_not_grow_nothing_is_set_aside(folder: Path) -> None:
    for path in folder.rglob("seal.json"):
        path.unlink()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", LIMITED, str(folder)]
    limited = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert limited.returncode == 0, limited.stderr
    assert "['v1', 'v2']" in limited.stdout
    assert "v2 is not open" in limited.stdout
    assert not (folder / "set_aside").exists()
    with opened(folder) as store:
        assert found(store) == 30
        assert store.notes() == []


@pytest.mark.parametrize("number", [errno.EACCES, errno.EMFILE, errno.ENOMEM, errno.EDQUOT])
def test_an_error_of_the_system_leaves_a_version_unopened_with_a_note_and_is_tried_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fails(_: Path) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(seal, "_checksum", fails)
        store = EdgeStore(folder)
        assert store.unopened() == ["v1", "v2"]
    with pytest.raises(LoreglassError):
        found(store)  # not tried again before its minute
    assert any("v2 is not open" in note for note in store.notes())
    assert not (folder / "set_aside").exists()
    monkeypatch.setattr(open_versions, "_RETRY_S", 0.0)
    assert found(store) == 30
    assert store.unopened() == ["v1"]
    store.close()


def test_a_disk_that_cannot_read_a_version_sets_it_aside(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = seal._checksum

    def fails(path: Path) -> int:
        if "v2" in path.parts:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return whole(path)

    monkeypatch.setattr(seal, "_checksum", fails)
    with opened(folder) as store:
        assert found(store) == 20


def test_contents_that_take_long_are_compared_while_readers_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_versions, "CONTENTS_S", -1.0)
    flip_a_bit(shard_file(folder, "v2", "page_0.dat"))
    with opened(folder) as store:
        until = time.monotonic() + 60
        while not store.notes() or any("still compared" in note for note in store.notes()):
            assert time.monotonic() < until
            time.sleep(0.01)
        assert found(store) == 20


def test_aliases_that_cannot_be_read_now_are_not_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Path.read_bytes

    def fails(path: Path) -> bytes:
        if path.name == "aliases.json":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return read(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", fails)
        with opened(folder) as store:
            assert found(store) == 20
            with pytest.raises(LoreglassError):
                store.publish("pages", "v1")
    with opened(folder) as store:
        assert found(store) == 30


@pytest.mark.parametrize(
    ("text", "of_the_system"),
    [
        ("IO error: File too large (os error 27)", True),
        ('called `unwrap()`: Os { code: 24, kind: Uncategorized, message: "Too many" }', True),
        ("failed to read: Input/output error (os error 5)", False),
        ("failed to fill whole buffer", False),
    ],
)
def test_errors_of_the_system_are_told_from_errors_of_files(text: str, of_the_system: bool) -> None:
    assert is_of_the_system(text) is of_the_system


def test_a_file_that_goes_while_sizes_are_added_counts_nothing(tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "here").write_bytes(b"x" * 5_000)
    assert allocated(tmp_path) >= 5_000


def test_repair_makes_what_readers_see_lasting_and_deletes_nothing(folder: Path) -> None:
    cut(shard_file(folder, "v2", "segment.json"))
    with opened(folder) as store:
        store.repair()
        assert found(store) == 20
    with opened(folder) as store:
        assert [each for each in store.notes() if "set aside" not in each] == []
    assert len(list((folder / "set_aside").iterdir())) == 1


WRITES: dict[str, Callable[[EdgeStore], None]] = {
    "create": lambda store: store.create("v4", SCHEMA),
    "copy": lambda store: store.create("v4", SCHEMA, base="pages"),
    "upsert": lambda store: store.upsert("v3", points(40, 50)),
    "publish": lambda store: store.publish("pages", "v3"),
}


@pytest.mark.parametrize("write", WRITES)
def test_with_little_room_a_write_is_refused_in_a_sentence_and_readers_go_on(
    folder: Path, write: str
) -> None:
    with opened(folder, Room(folder, 256 * MIB, lambda _: 100 * MIB)) as store:
        with pytest.raises(StorageFull, match="make room, then go on"):
            WRITES[write](store)
        assert found(store) == 30
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
from tests.unit.vectors.test_broken_state import SCHEMA, found, points
store = EdgeStore(Path(sys.argv[1]), Room(Path(sys.argv[1]), 8 * MIB))
store.create("v1", SCHEMA)
store.upsert("v1", points(0, 50))
store.publish("pages", "v1")
store.create("v2", SCHEMA, base="pages")
try:
    for first in range(50, 200_000, 500):
        store.upsert("v2", points(first, first + 500))
except StorageFull as error:
    print(error.detail, found(store))
store.close()
"""


def test_indexing_on_a_disk_that_fills_up_ends_in_a_sentence(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("a file system cannot be mounted here")
    try:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-c", FILL, str(disk)]
        filled = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert filled.returncode == 0, (filled.returncode, filled.stderr)
        assert "make room" in filled.stdout
        assert filled.stdout.split()[-1] == "50"
        with opened(disk) as store:
            assert found(store) == 50
    finally:
        subprocess.run(["umount", disk], check=True)


def test_an_index_with_a_graph_is_whole_at_every_start(tmp_path: Path) -> None:
    """Edge writes its settings anew when it first opens one."""
    schema = CollectionSchema(dense={"look": 1024})
    draw = np.random.default_rng(0)
    looks = [
        StoredPoint(str(uuid.UUID(int=number)), {"look": draw.normal(size=1024).tolist()}, {})
        for number in range(3000)
    ]
    with opened(tmp_path) as store:
        store.create("v1", schema)
        store.upsert("v1", looks)
        store.publish("images", "v1")
    for _ in range(3):
        with opened(tmp_path) as store:
            assert store.notes() == []
            (best,) = store.search("images", "look", looks[7].vectors["look"], 1)
            assert (best.id, best.score) == (looks[7].id, pytest.approx(1.0, abs=1e-5))
