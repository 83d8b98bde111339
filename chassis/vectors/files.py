"""Files that must survive a crash: atomic replacement and copies of a folder that keep its holes."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Make renames and new names in `folder` durable (fsync of the directory itself)."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_text(path: Path, text: str) -> None:
    """Write `path` so that a reader, or a crash, meets the old text or the new one and nothing between."""
    replace_bytes(path, text.encode())


def replace_bytes(path: Path, content: bytes, fresh: Path | None = None, mode: int = 0o666) -> None:
    """Write bytes as `replace_text` does; a failure leaves no file. `fresh`: a temporary path."""
    fresh = fresh or path.with_name(f".{path.name}.new")
    try:
        fresh.unlink(missing_ok=True)  # else it would keep its mode
        with open(fresh, "wb", opener=partial(os.open, mode=mode)) as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder, durable when the call returns.

    Holes are kept: an idle shard is about 200 MB of preallocated files with 200 kB of data in them.
    """
    shutil.copytree(source, target, copy_function=_copy_sparse)
    for folder, _, _ in os.walk(target):
        sync_folder(Path(folder))


def sync_tree(folder: Path) -> None:
    """Make the files and names in a folder durable (fsync of each)."""
    for inner, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError), (Path(inner) / name).open("rb") as stream:
                os.fsync(stream.fileno())
        sync_folder(Path(inner))


def allocated(folder: Path) -> int:
    """Bytes that the files of a folder take on the disk."""
    total = 0
    for inner, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # Edge removes files of its own meanwhile
                total += (Path(inner) / name).stat().st_blocks * 512
    return total


def _data_ranges(descriptor: int) -> Iterator[tuple[int, int]]:
    """Yield the starts and ends of a file's data, without its holes."""
    size = os.fstat(descriptor).st_size
    offset = 0
    while (offset := _next_data(descriptor, offset, size)) < size:
        end = os.lseek(descriptor, offset, os.SEEK_HOLE)
        yield offset, end
        offset = end


def _copy_sparse(source: str, target: str) -> str:
    with Path(source).open("rb", buffering=0) as reader, Path(target).open("wb", buffering=0) as writer:
        os.truncate(writer.fileno(), os.fstat(reader.fileno()).st_size)
        for start, end in _data_ranges(reader.fileno()):
            _copy_range(reader.fileno(), writer.fileno(), start, end)
        os.fsync(writer.fileno())
    shutil.copymode(source, target)
    return target


def _next_data(descriptor: int, offset: int, size: int) -> int:
    if offset >= size:
        return size
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:  # nothing but a hole from here on
            return size
        raise


def _copy_range(reader: int, writer: int, start: int, end: int) -> None:
    while start < end:
        block = os.pread(reader, min(end - start, 1 << 20), start)
        if not block:
            return
        os.pwrite(writer, block, start)
        start += len(block)
