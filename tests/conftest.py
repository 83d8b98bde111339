"""Fixtures for every test."""

import asyncio
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import structlog
import uvicorn.server
from hypothesis import settings

from chassis.http import calls
from chassis.models.cancellation import CURRENT_CALL, Call
from chassis.resilience.deadlines import Deadline
from tests.parity import pytest_terminal_summary  # noqa: F401 - a hook, which pytest finds here

# A slow machine fails no property; what else holds (CI's own profile, say) stays.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")


_MEMORY = Path("/dev/shm")
_ROOMY = 4 << 30
if _MEMORY.is_dir():
    _state = os.statvfs(_MEMORY)
    if _state.f_bavail * _state.f_frsize > _ROOMY and not _state.f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
"""Temporary folders are in memory where there is room: on a disk, tests of stores wait for fsyncs."""


_LONG = {
    *("attacks", "backup", "cluster", "demo", "domain_router_blip2", "grpo", "image_search_photos"),
    *("journeys", "learning", "load", "mentra", "sft", "wheel", "whole_platform"),
}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: at the end one of them would keep a process, and leave the others nothing to do."""
    items.sort(key=lambda item: item.path.stem.removeprefix("test_") not in _LONG)


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end. Looking through it for garbage stops the process for
    seconds, and a question that must be answered in time with it.
    """
    gc.collect()
    gc.freeze()


class _Asyncio(ModuleType):
    """asyncio with short naps."""

    @staticmethod
    async def sleep(delay: float) -> None:
        await asyncio.sleep(min(delay, 0.005))

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)


uvicorn.server.asyncio = _Asyncio("asyncio")  # type: ignore[attr-defined]
"""uvicorn looks ten times a second whether its connections are closed; thousands of tests end a server."""


calls.CONNECT_S = 15.0
"""A connection to this machine takes no time; where one is late, the machine had stopped the whole process,
and a test that is not about that would fail for it.
"""


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests run on plain asyncio: closing a uvloop waits for every handle, and a failed
    test's traceback keeps handles alive, so that one failure would hang the whole run.
    """
    return "asyncio"


@pytest.fixture
def caller_left() -> Iterator[None]:
    """The caller of the test's computations has left."""
    call = Call(Deadline.after_ms(60_000))
    call.leave()
    token = CURRENT_CALL.set(call)
    yield
    CURRENT_CALL.reset(token)


@pytest.fixture(scope="session")
def real_photos() -> Path:
    """The folder of real photographs; they are not part of the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "photos"
    folder = Path(os.environ.get("LOREGLASS_PHOTOS", beside))
    if not folder.is_dir():
        pytest.skip("no folder of real photographs here; name one in LOREGLASS_PHOTOS")
    return folder


@pytest.fixture(autouse=True)
def plain_logs() -> None:
    """One plain line a log entry, shown with a test that failed: drawn tracebacks take seconds each.

    Before each test anew: a test of a command leaves the process's logs as that command wants them.
    """
    structlog.reset_defaults()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(),
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
