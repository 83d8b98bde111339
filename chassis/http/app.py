"""The app factory: what every service and the gateway share."""

import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from operator import methodcaller
from typing import Annotated, Any, Generic, TypeVar

import structlog
from anyio import to_thread
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.telemetry import TelemetryConfig
from starlette.formparsers import MultiPartParser
from starlette.responses import JSONResponse, Response

from chassis.accelerator import CPU, Accelerator, Placement, open_accelerator
from chassis.addresses import is_loopback
from chassis.errors import LoreglassError
from chassis.http.access import Callers, check_token
from chassis.http.bodies import Router
from chassis.http.connections import Connections, UploadBudget
from chassis.http.exchange import ExchangeMiddleware
from chassis.http.health import Note, health_router, metrics_router
from chassis.http.problems import install_problem_handlers
from chassis.models.batching import BatchLimits, MicroBatcher
from chassis.models.workers import EnginePool
from chassis.resilience.deadlines import Deadline
from chassis.settings import AppSettings, ServiceSettings
from chassis.telemetry.metrics import Metrics
from contracts.operations import Info

Engine = TypeVar("Engine")
Item = TypeVar("Item")
Result = TypeVar("Result")
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]

_NO_TELEMETRY_OF_ITS_OWN: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "auto_configure": False,
}
"""FastAPI would export what exceptions say, which may be a question; `chassis.telemetry.spans` are ours."""

# Files of a form stay in memory, which the upload budget bounds; a temporary folder may be small, or full.
MultiPartParser.spool_max_size = sys.maxsize

_ANYBODY = Callers()

log = structlog.get_logger()


class EngineResources:
    """Resources that an engine may be built from; all are closed with the service."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.accelerator = Accelerator(CPU, "float32")
        self._opened = ExitStack()

    def open_accelerator(self, placement: Placement) -> Accelerator:
        """The device for this service's models; what it holds shows in `/info` and in the metrics."""
        self.accelerator = open_accelerator(placement)
        self.metrics.watch(self.accelerator)
        return self.accelerator

    def batch(
        self, forward: Callable[[Sequence[Item]], Sequence[Result]], limits: BatchLimits, name: str
    ) -> MicroBatcher[Item, Result]:
        """`forward`, shared by the calls that wait at the same time."""
        observe = self.metrics.batch_observer(name)
        batcher = MicroBatcher(forward, limits, f"{self.metrics.service}-{name}", observe)
        self._opened.callback(batcher.close)
        self.metrics.watch_batches(name, batcher)
        return batcher

    def on_close(self, close: Callable[[], object]) -> None:
        """Have `close` called when the service stops."""
        self._opened.callback(close)

    def close(self) -> None:
        """Close everything, the latest first."""
        self._opened.close()


@dataclass(frozen=True, slots=True)
class ServiceSpec(Generic[Engine]):
    """A model service.

    `open_engine` passes what must be closed to `EngineResources.on_close`. `probe` does a little of the
    engine's work, or raises. `takes`: see `Info`. `write_routers`: routes that need the token for writes.
    """

    name: str
    routers: Sequence[APIRouter]
    open_engine: Callable[[EngineResources], Engine]
    probe: Callable[[Engine], object] = methodcaller("probe")
    takes: Sequence[str] = ()
    write_routers: Sequence[APIRouter] = ()


def create_app(
    name: str,
    settings: AppSettings,
    routers: Sequence[APIRouter],
    lifespan: Lifespan,
    metrics: Metrics,
    engine: str = "",
    accelerator: Callable[[], Accelerator] = lambda: Accelerator(CPU, ""),
    takes: Sequence[str] = (),
    model: Callable[[], Mapping[str, str]] = dict,
    described_to: Callable[..., Any] | None = None,
    callers: Callers = _ANYBODY,
) -> FastAPI:
    """An app with problem+json errors, deadlines, cancellation, metrics and health routes.

    `model`: what `/info` tells of a model's server. `described_to`: the dependency that lets callers read
    `/openapi.json`, where not all may.

    `lifespan` must set `app.state.ready_checks`: name -> async callable that raises when it is not.
    """
    app = FastAPI(
        title=f"Loreglass {name}",
        version=version("loreglass"),
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY_OF_ITS_OWN,
        generate_unique_id_function=lambda route: route.name,
    )

    def about() -> Info:
        used = accelerator()
        return Info(
            service=name,
            version=app.version,
            engine=engine,
            device=used.device,
            dtype=used.dtype,
            memory_mib=used.memory_bytes >> 20,
            memory_peak_mib=used.peak_memory_bytes() >> 20,
            takes=list(takes),
            model=dict(model()),
        )

    metrics.describe(about)
    for_operators = (health_router(about), metrics_router(metrics, callers.sees_tenants))
    for router in (*routers, _openapi_router(app, described_to), *for_operators):
        app.include_router(router)
    install_problem_handlers(app)
    _bound(app, settings, metrics, callers)
    return app


def _bound(app: FastAPI, settings: AppSettings, metrics: Metrics, callers: Callers) -> None:
    """Bound what callers may send, hold and wait for. The server uses `app.state.connections`."""
    connections = Connections(settings.connection_limits, metrics.wire_refused())
    uploads = UploadBudget(
        settings.max_upload_bytes,
        settings.max_share_per_address,
        settings.max_body_bytes,
        share_per_tenant=callers.upload_share,
    )
    metrics.watch_wire(lambda: len(connections), lambda: uploads.held_bytes)
    app.state.connections, app.state.metrics = connections, metrics
    app.add_middleware(
        ExchangeMiddleware, settings=settings, metrics=metrics, uploads=uploads, callers=callers
    )


def _openapi_router(app: FastAPI, described_to: Callable[..., Any] | None) -> APIRouter:
    """`GET /openapi.json`."""
    router = Router(dependencies=[Depends(described_to)] if described_to else [])

    @router.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return JSONResponse(app.openapi())

    return router


def create_service(spec: ServiceSpec[Engine], settings: ServiceSettings) -> FastAPI:
    """A model service: its engine opens with the app, in a thread, and works in a bounded pool.

    It has done one piece of work before the first request reaches it, so that nobody waits for a warm-up.
    """
    metrics = Metrics(spec.name)
    access = settings.access.open()
    writes = [route for router in spec.write_routers for route in router.routes]
    opened = EngineResources(metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as resources:
            resources.callback(opened.close)
            engine = await to_thread.run_sync(spec.open_engine, opened)
            pool = EnginePool(engine, settings.pool_size, spec.name, metrics.refused())
            metrics.watch_pool(pool, lambda: pool.running)
            resources.callback(pool.close)
            await to_thread.run_sync(_warm_up, spec, engine)
            app.state.pool = pool
            app.state.ready_checks = {"engine": partial(pool.run, spec.probe)}
            if not access.token and not is_loopback(settings.host):
                log.warning("service_without_token", service=spec.name, setting="LOREGLASS_SERVICE_TOKEN")
                app.state.ready_checks["access"] = _open_to_all
            yield

    app = create_app(
        spec.name,
        settings,
        [*spec.routers, *spec.write_routers],
        lifespan,
        metrics,
        settings.engine,
        lambda: opened.accelerator,
        spec.takes,
        callers=Callers(check=check_token(access, spec.name, writes), name_scopes=True),
    )
    app.state.settings = settings
    return app


async def _open_to_all(_: Deadline) -> Note:
    """Ready all the same; operators are told."""
    return Note("No token: anyone who can reach this port can read and write.")


def _warm_up(spec: ServiceSpec[Engine], engine: Engine) -> None:
    """Try the engine. Services that it needs may start later; its own failure stops the start."""
    try:
        spec.probe(engine)
    except LoreglassError as error:
        log.warning("warm_up_postponed", service=spec.name, kind=error.kind.value)


async def request_deadline(request: Request) -> Deadline:
    """The deadline that the exchange middleware gave this request."""
    deadline: Deadline = request.state.deadline
    return deadline


async def engine_pool(request: Request) -> EnginePool[Any]:
    """The pool of this service's engine."""
    pool: EnginePool[Any] = request.app.state.pool
    return pool


async def app_metrics(request: Request) -> Metrics:
    """The metrics of this app."""
    metrics: Metrics = request.app.state.metrics
    return metrics


# Coroutines, all of these: FastAPI sends a plain function to a thread, which costs more than the function.
RequestDeadline = Annotated[Deadline, Depends(request_deadline)]
AppMetrics = Annotated[Metrics, Depends(app_metrics)]
