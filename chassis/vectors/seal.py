"""What a version is made of when it is published: each file with its size and checksum.

A truncated file that is mapped ends the process, and Edge reads a shortened list of ids as a smaller
index. Both are found before Edge opens the files. Not looked at: what Edge drops or makes anew when it opens
a shard.
"""

import json
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from chassis.vectors.checked import Damaged, read_checked, write_checked
from chassis.vectors.files import data_ranges, sync_folder

SEAL = "seal.json"
WAL = "wal"
_CONFIG = "edge_config.json"
"""Edge fills in what it left open, when it opens a shard that has an index: it must be JSON, not the same."""
_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)


def engine_version() -> str:
    """Another one may write files in another way."""
    return version("qdrant-edge-py")


@dataclass(frozen=True, slots=True)
class Seal:
    """`files`: size and checksum, by path in the version's folder; `engine`: the version that wrote them."""

    engine: str
    points: int
    files: dict[str, tuple[int, int]]

    def check_sizes(self, folder: Path) -> None:
        """Raises `Damaged` where a file is missing or has another size. Takes milliseconds."""
        for name, (size, _) in self.files.items():
            path = folder / name
            if path.name == _CONFIG:
                _require_json(path)
                continue
            try:
                found = path.stat().st_size
            except FileNotFoundError:
                raise Damaged(f"{path.name} is missing") from None
            if found != size:
                raise Damaged(f"{path.name} has {found:,} of {size:,} bytes")

    def check_contents(self, folder: Path, stop: Callable[[], bool]) -> bool:
        """Raises `Damaged` where a file is not as it was sealed. False where it was stopped."""
        for name, (_, held) in self.files.items():
            if stop():
                return False
            if Path(name).name != _CONFIG and _checksum(folder / name) != held:
                raise Damaged(f"the checksum of {(folder / name).name} is wrong")
        return True


def write_seal(folder: Path, points: int) -> None:
    """Seal a version whose files are flushed; durable when the call returns, as are the files."""
    files = {}
    for path in _files(folder):
        _sync(path)
        files[path.relative_to(folder).as_posix()] = (path.stat().st_size, _checksum(path))
    for inner, _, _ in os.walk(folder):
        sync_folder(Path(inner))
    write_checked(folder / SEAL, {"engine": engine_version(), "points": points, "files": files})


def read_seal(folder: Path) -> Seal | None:
    """None where a version was never sealed, or its seal is damaged: then its files must be tried."""
    try:
        stored = read_checked(folder / SEAL)
        files = {str(name): (int(size), int(held)) for name, (size, held) in stored["files"].items()}
        return Seal(str(stored["engine"]), int(stored["points"]), files)
    except (FileNotFoundError, Damaged, KeyError, TypeError, ValueError):
        return None


def break_seal(folder: Path) -> None:
    """Before a version is written to; durable when the call returns."""
    (folder / SEAL).unlink(missing_ok=True)
    sync_folder(folder)


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder).parts
        if path.is_file() and inner != (SEAL,) and WAL not in inner and "journal" not in path.name:
            yield path


def _require_json(path: Path) -> None:
    try:
        json.loads(path.read_bytes())
    except FileNotFoundError:
        raise Damaged(f"{path.name} is missing") from None
    except ValueError as error:
        raise Damaged(f"{path.name} cannot be read") from error


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _checksum(path: Path) -> int:
    """Of the blocks that are not zeros: a copy may have other holes and is the same file."""
    total, done = 0, 0
    with path.open("rb", buffering=0) as stream:
        for start, end in data_ranges(stream.fileno()):
            done = max(done, start - start % _BLOCK)
            while done < end:
                block = os.pread(stream.fileno(), _BLOCK, done)
                if block != _ZEROS[: len(block)]:
                    total = zlib.crc32(block, zlib.crc32(done.to_bytes(8, "little"), total))
                done += _BLOCK
    return total
