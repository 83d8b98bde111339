"""The app factory: what every service and the gateway share."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Annotated, Any, Generic, TypeVar

import anyio.to_thread
from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.responses import Response

from chassis.deadlines import Deadline
from chassis.exchange import ExchangeLimits, ExchangeMiddleware
from chassis.health import health_router
from chassis.metrics import Metrics
from chassis.problems import install_problem_handlers
from chassis.settings import AppSettings, ServiceSettings
from chassis.workers import EnginePool, PoolSize
from contracts.operations import Info

Engine = TypeVar("Engine")
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]
Check = Callable[[Deadline], Any]


@dataclass(frozen=True, slots=True)
class ServiceSpec(Generic[Engine]):
    """What makes a model service: how its engine opens and closes, and a call that proves it works."""

    name: str
    routers: Sequence[APIRouter]
    open_engine: Callable[[], Engine]
    probe: Callable[[Engine], object]
    close_engine: Callable[[Engine], None] = lambda _: None


def create_app(
    name: str,
    settings: AppSettings,
    routers: Sequence[APIRouter],
    lifespan: Lifespan,
    metrics: Metrics,
    engine: str = "",
) -> FastAPI:
    """An app with problem+json errors, deadlines, cancellation, metrics and health routes.

    `lifespan` must set `app.state.ready_checks`: name -> async callable that raises when it is not.
    """
    app = FastAPI(
        title=f"Loreglass {name}",
        version=version("loreglass"),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.metrics = metrics
    for router in (*routers, health_router(Info(service=name, version=app.version, engine=engine))):
        app.include_router(router)
    install_problem_handlers(app)
    limits = ExchangeLimits(settings.default_deadline_ms, settings.max_body_bytes)
    app.add_middleware(ExchangeMiddleware, limits=limits, metrics=metrics)

    @app.get("/metrics", include_in_schema=False)
    async def prometheus() -> Response:
        return Response(metrics.exposition(), media_type="text/plain; version=0.0.4")

    return app


def create_service(spec: ServiceSpec[Engine], settings: ServiceSettings) -> FastAPI:
    """A model service: its engine opens with the app, in a thread, and works in a bounded pool."""
    metrics = Metrics(spec.name)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as resources:
            engine = await anyio.to_thread.run_sync(spec.open_engine)
            resources.callback(spec.close_engine, engine)
            pool = EnginePool(engine, PoolSize(settings.workers, settings.queue), spec.name)
            resources.callback(pool.close)
            app.state.pool = pool
            app.state.ready_checks = {"engine": partial(pool.run, spec.probe)}
            yield

    return create_app(spec.name, settings, spec.routers, lifespan, metrics, settings.engine)


def request_deadline(request: Request) -> Deadline:
    """The deadline that the exchange middleware gave this request."""
    deadline: Deadline = request.state.deadline
    return deadline


def engine_pool(request: Request) -> EnginePool[Any]:
    """The pool of this service's engine."""
    pool: EnginePool[Any] = request.app.state.pool
    return pool


RequestDeadline = Annotated[Deadline, Depends(request_deadline)]
