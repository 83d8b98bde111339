"""Files that must survive a crash: atomic replacement and copies of a folder that keep its holes."""

import errno
import os
import shutil
from contextlib import suppress
from functools import partial
from io import FileIO
from pathlib import Path

_HOLE = bytes(2**16)


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
