"""Free space on a disk, checked before each write.

Edge writes into mapped files with holes. Where the disk is full such a write ends the process (SIGBUS)
instead of raising, so that it must not be begun.
"""

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

from chassis.errors import StorageFull

MIB = 1 << 20
RESERVE = 256 * MIB
"""Kept free: many times what a batch takes besides its own bytes, and room for others who write meanwhile."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Room:
    """The free space on the disk of `folder`. `free`: returns its bytes, replaced in tests."""

    def __init__(
        self, folder: Path, reserve: int = RESERVE, free: Callable[[Path], int] | None = None
    ) -> None:
        self._folder = folder
        self.reserve = reserve
        self._free = free or (lambda path: shutil.disk_usage(path).free)

    def free(self) -> int:
        """Bytes."""
        return self._free(self._folder)

    def require(self, more: int) -> None:
        """Raises `StorageFull` where `more` bytes would leave less than the reserve."""
        free, needed = self.free(), self.reserve + more
        if free < needed:
            raise StorageFull(
                f"The disk of the index has {free // MIB:,} MiB left and needs {-(-needed // MIB):,} MiB."
                " What is published is whole and answers: make room, then go on with the same command."
            )


def storage_full() -> StorageFull:
    """Return the error for a write that the disk has refused."""
    return StorageFull("The disk is full. Nothing that was kept is lost: make room, then try again.")


def is_full(error: BaseException) -> bool:
    """Return whether a full disk made this error, also one of Edge's, which only has a text."""
    return (isinstance(error, OSError) and error.errno in _FULL) or "os error 28" in str(error)
