"""Copies of a folder that survive a crash and keep the holes of its files."""

import errno
import os
import shutil
from contextlib import suppress
from io import FileIO
from pathlib import Path

from chassis.files import sync_folder

_HOLE = bytes(2**16)


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder, durable when the call returns.

    Holes are kept: an idle shard is about 200 MB of preallocated files with 200 kB of data in them.
    """
    shutil.copytree(source, target, copy_function=_copy_sparse)
    sync_tree(target)


def _copy_sparse(source: str, target: str) -> None:
    with open(source, "rb", buffering=0) as reader, open(target, "wb") as writer:
        while block := reader.read(len(_HOLE)):
            if block == _HOLE:
                writer.seek(_end_of_hole(reader))
            else:
                writer.write(block)
        writer.truncate(reader.tell())
    shutil.copymode(source, target)


def _end_of_hole(file: FileIO) -> int:
    """Seek to the next data that the file system reports, and return its offset."""
    try:
        return file.seek(file.tell(), os.SEEK_DATA)
    except OSError as error:  # ENXIO: no data until the end; other errors: no support for holes
        return file.seek(0, os.SEEK_END) if error.errno == errno.ENXIO else file.tell()


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
