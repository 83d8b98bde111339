"""Health routes. Ready means that the work was really tried, not that the process is up."""

from collections.abc import Callable

import anyio
import structlog
from fastapi import APIRouter, Request

from chassis.deadlines import Deadline
from chassis.errors import LoreglassError, NotReady
from contracts.errors import ErrorKind
from contracts.operations import Health, Info

_READY_CAP_MS = 5_000

log = structlog.get_logger()


def health_router(describe: Callable[[], Info]) -> APIRouter:
    """`/health/live`, `/health/ready` and `/info`; `describe` tells what the app runs on now."""
    router = APIRouter()

    @router.get("/health/live")
    async def live() -> Health:
        """The event loop turns."""
        return Health(status="ok")

    @router.get("/health/ready")
    async def ready(request: Request) -> Health:
        """Every check of this app was run just now, side by side; 503 names those that failed."""
        checks = request.app.state.ready_checks
        deadline: Deadline = request.state.deadline.within(_READY_CAP_MS)
        outcomes: dict[str, str] = {}

        async def run(name: str) -> None:
            try:
                await checks[name](deadline)
            except LoreglassError as error:
                outcomes[name] = error.kind.value
            except Exception:
                log.exception("broken_check", check=name)
                outcomes[name] = ErrorKind.INTERNAL.value
            else:
                outcomes[name] = "ok"

        async with anyio.create_task_group() as group:
            for name in checks:
                group.start_soon(run, name)
        failed = sorted(name for name, outcome in outcomes.items() if outcome != "ok")
        if failed:
            raise NotReady("Not ready: " + ", ".join(f"{name} ({outcomes[name]})" for name in failed))
        return Health(status="ok", checks=dict(sorted(outcomes.items())))

    @router.get("/info")
    async def about() -> Info:
        """What this service is and which engine it runs."""
        return describe()

    return router
