"""A small app on the chassis, whose routes do what the tests of the exchange need."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import httpx
from fastapi import APIRouter, FastAPI, Request, Response, UploadFile

from chassis.errors import Overloaded
from chassis.http.app import RequestDeadline, create_app
from chassis.http.bodies import Router
from chassis.http.problems import PROBLEM_JSON
from chassis.scope import current_scope
from chassis.settings import AppSettings
from chassis.telemetry.metrics import Metrics
from contracts import headers
from contracts.operations import Health
from tests.wire import RawReply

SECRET = "/srv/loreglass/secret.key at 10.1.2.3"


@dataclass
class Witness:
    """What the app has seen. Events are the app's, on its own event loop."""

    started: anyio.Event = field(default_factory=anyio.Event)
    cancelled: anyio.Event = field(default_factory=anyio.Event)
    ran: list[str] = field(default_factory=list)
    metrics: Metrics = field(default_factory=lambda: Metrics("probe"))

    def metric(self, name: str, labels: str = "") -> float:
        """Return the value of a series; 0 if there is none."""
        series, text = f'{name}{{{labels}service="probe"}} ', self.metrics.exposition()[0].decode()
        return sum(float(line.removeprefix(series)) for line in text.splitlines() if line.startswith(series))

    async def in_work(self, number: int) -> None:
        """Wait until exactly `number` requests are in flight."""
        await until(lambda: self.metric("loreglass_requests_in_flight") == number)


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition is true, or fail after 20 s."""
    with anyio.fail_after(20):
        while not condition():
            await anyio.lowlevel.checkpoint()


def kind_of(reply: httpx.Response | RawReply) -> tuple[int, str]:
    """Return the status and the problem's kind, after checking the form of the problem document."""
    status = reply.status if isinstance(reply, RawReply) else reply.status_code
    problem = reply.json()
    assert reply.headers["content-type"] == PROBLEM_JSON
    assert problem["status"] == status
    assert problem["trace_id"] == reply.headers[headers.TRACE.lower()]
    return status, str(problem["type"]).removeprefix("urn:loreglass:problem:")


def probe_app(witness: Witness, settings: AppSettings | None = None) -> FastAPI:
    """The app; its routes are named for what they do."""
    router = Router()

    @router.get("/remaining")
    async def remaining(deadline: RequestDeadline) -> dict[str, float]:
        witness.ran.append("remaining")
        return {"ms": deadline.remaining_ms()}

    @router.post("/length")
    async def length(request: Request) -> dict[str, int]:
        body = await request.body()
        witness.ran.append("length")
        return {"bytes": len(body)}

    @router.post("/hang")
    async def hang(request: Request) -> Health:
        await request.body()
        witness.started.set()
        try:
            await anyio.sleep_forever()
        finally:
            witness.cancelled.set()
        return Health(status="ok")

    @router.get("/crash")
    async def crash() -> Health:
        raise RuntimeError(SECRET)

    @router.get("/crash-in-a-group")
    async def crash_in_a_group() -> None:
        async with anyio.create_task_group():
            raise RuntimeError(SECRET)

    @router.get("/scope")
    async def scope() -> str:
        return current_scope()

    @router.get("/busy")
    async def busy() -> Health:
        raise Overloaded("Come back later.", retry_after_s=7)

    @router.get("/items/{item}")
    async def item(item: int) -> dict[str, int]:
        return {"item": item}

    _large(router)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.ready_checks = {}
        yield

    chosen = settings or AppSettings(max_body_bytes=10_000)
    return create_app("probe", chosen, [router], lifespan, witness.metrics)


def _large(router: APIRouter) -> None:
    @router.post("/form")
    async def form(file: UploadFile) -> dict[str, int]:
        return {"bytes": len(await file.read())}

    @router.post("/headers")
    async def headers_after_the_body(request: Request) -> list[str]:
        await request.body()
        return sorted(request.headers)

    @router.get("/much")
    async def much() -> Response:
        return Response(b"x" * 64 * 2**20)
