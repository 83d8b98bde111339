"""Files that must survive a crash: atomic replacement and copies of a folder that keep its holes."""

import errno
import os
import shutil
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
    fresh = path.with_name(f".{path.name}.new")
    with fresh.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder, durable when the call returns.

    Holes are kept: an idle shard is about 200 MB of preallocated files with 200 kB of data in them.
    """
    shutil.copytree(source, target, copy_function=_copy_sparse)
    for folder, _, _ in os.walk(target):
        sync_folder(Path(folder))


def _copy_sparse(source: str, target: str) -> str:
    with Path(source).open("rb", buffering=0) as reader, Path(target).open("wb", buffering=0) as writer:
        size = os.fstat(reader.fileno()).st_size
        os.truncate(writer.fileno(), size)
        offset = 0
        while (offset := _next_data(reader.fileno(), offset, size)) < size:
            end = os.lseek(reader.fileno(), offset, os.SEEK_HOLE)
            _copy_range(reader.fileno(), writer.fileno(), offset, end)
            offset = end
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
