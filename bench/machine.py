"""What the measurements were made on."""

import os
import platform
from datetime import UTC, datetime
from pathlib import Path


def described() -> str:
    """CPU, cores, memory, interpreter, kernel and date, in one line."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    parts = (
        _cpu_model(),
        f"{len(os.sched_getaffinity(0))} cores",
        f"{memory_gib:.0f} GiB",
        f"Python {platform.python_version()}",
        f"Linux {platform.release()}",
        f"{datetime.now(UTC):%Y-%m-%d}",
    )
    return ", ".join(parts)


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
