"""Routes for operators: health, metrics, info.

Ready means that the work was really tried, not that the process is up.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Generic, TypeVar

import anyio
import structlog
from anyio import to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.types import Scope

from chassis.errors import LoreglassError, NotReady
from chassis.http.bodies import Router
from chassis.resilience.deadlines import Clock, Deadline
from chassis.telemetry.metrics import Metrics, accepts_openmetrics
from contracts.errors import ErrorKind
from contracts.operations import Health, Info

T = TypeVar("T")

_READY_CAP_MS = 5_000

log = structlog.get_logger()

Check = Callable[[Deadline], Awaitable[object]]
"""Raises when what it exercises cannot work; may return a `Note`."""


@dataclass(frozen=True, slots=True)
class Note:
    """The result of a health check, for operators."""

    text: str
    is_failure: bool = False


def health_router(describe: Callable[[], Info]) -> APIRouter:
    """`/health/live`, `/health/ready` and `/info`; `describe` tells what the app runs on now."""
    router = Router()
    flights = SingleFlight[dict[str, Note]](at_once=10, every_s=1.0)  # each makes engines work

    @router.head("/health/live", include_in_schema=False)
    @router.get("/health/live")
    async def live() -> Health:
        """Return 200 while the app runs."""
        return Health(status="ok")

    @router.head("/health/ready", include_in_schema=False)
    @router.get("/health/ready")
    async def ready(request: Request) -> Health:
        """Run every check of this app. 503 names those that failed."""
        outcomes = await flights.get(lambda: _try_all(request.app.state.ready_checks))
        failed = sorted(name for name, outcome in outcomes.items() if outcome.is_failure)
        if failed:
            raise NotReady("Not ready: " + ", ".join(f"{name} ({outcomes[name].text})" for name in failed))
        return Health(status="ok", checks={name: outcomes[name].text for name in sorted(outcomes)})

    @router.get("/info")
    async def about() -> Info:
        """Return the service's name, version and engine."""
        return describe()

    return router


def metrics_router(metrics: Metrics, sees_tenants: Callable[[Scope], bool]) -> APIRouter:
    """Return `GET /metrics`, made four times a second at most. `sees_tenants`: whether a caller may."""
    router = Router()
    kinds = product((False, True), repeat=2)
    flights = {kind: SingleFlight[tuple[bytes, str]](at_once=40, every_s=0.25) for kind in kinds}

    @router.get("/metrics", include_in_schema=False)
    async def prometheus(request: Request) -> Response:
        accepted = request.headers.get("accept", "")
        by_tenant = sees_tenants(request.scope)
        flight = flights[accepts_openmetrics(accepted), by_tenant]
        text, media_type = await flight.get(
            lambda: to_thread.run_sync(metrics.exposition, accepted, by_tenant)
        )
        return Response(text, headers={"Content-Type": media_type})

    return router


async def _try_all(checks: Mapping[str, Check]) -> dict[str, Note]:
    """Run all checks within a time of their own, since several callers may wait for them."""
    deadline = Deadline.after_ms(_READY_CAP_MS)
    outcomes: dict[str, Note] = {}

    async def run(name: str, check: Check) -> None:
        try:
            result = await check(deadline)
        except LoreglassError as error:
            result = Note(error.kind.value, is_failure=True)
        except Exception:
            log.exception("broken_check", check=name)
            result = Note(ErrorKind.INTERNAL.value, is_failure=True)
        outcomes[name] = result if isinstance(result, Note) else Note("ok")

    async with anyio.create_task_group() as group:
        for name, check in checks.items():
            group.start_soon(run, name, check)
    return outcomes


class SingleFlight(Generic[T]):
    """Callers share one call of a function; a token bucket bounds how often it is called.

    A caller who comes while a call is under way waits for its result, also when the caller that began it has
    left. `at_once` calls may follow one another, then one every `every_s` seconds; a caller beyond that gets
    the latest result, which is at most `every_s` seconds old.
    """

    def __init__(self, at_once: int, every_s: float, clock: Clock = time.monotonic) -> None:
        self._at_once = at_once
        self._every_s = every_s
        self._clock = clock
        self._left = float(at_once)
        self._counted = clock()
        self._latest: asyncio.Task[T] | None = None

    async def get(self, look: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `look`, or its latest one. Raises what it raised."""
        if self._latest is None or (self._latest.done() and self._may_look()):

            async def begun() -> T:
                return await look()

            self._latest = asyncio.create_task(begun())
        return await asyncio.shield(self._latest)

    def _may_look(self) -> bool:
        now = self._clock()
        self._left = min(self._at_once, self._left + (now - self._counted) / self._every_s)
        self._counted = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
