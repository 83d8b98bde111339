"""Atomic replacement of files."""

import os
import uuid
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
    """Write a file as `replace_bytes` does, as UTF-8."""
    replace_bytes(path, text.encode())


def replace_bytes(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file durably, so that readers see the old content or the new one, also after a crash.

    Raises `OSError`, and then leaves no temporary file.
    """
    fresh = path.with_name(f".{uuid.uuid4().hex}")
    try:
        with open(fresh, "wb", opener=partial(os.open, mode=mode)) as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
